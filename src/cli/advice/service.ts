import { durationOf } from '../../words.ts'
import type { Hints } from './hint.ts'

const CHECK_PROXY =
  'check HTTPS_PROXY, or the variable that stands for it, and make sure that the proxy is running'

export const SERVICE = {
  'expired-certificate': 'check the clock of this machine; if it is right, tell the operator of the service',
  'mostly-refused':
    'tell the operator of the service; the answers are put aside in the files that the warnings name',
  'needs-tls': 'check --url and the network of this machine; does this port need https?',
  'no-connection': 'check --url and the network of this machine',
  'no-proxy': CHECK_PROXY,
  'no-service':
    '--url is wrong, or a proxy or a login page has answered: the answer is a web page, and the service does not send any',
  'not-a-list': 'check --url: something else may have answered',
  'not-understood':
    'check --url: something else may answer there; if it is right, look for a newer softsim, or tell the operator of the service',
  'other-host': 'check --url',
  pause: ({ ms }) => `run fetch again in ${durationOf(ms)}`,
  'proxy-login': 'set them in HTTPS_PROXY, in the form http://user:password@proxy.example:8080',
  'proxy-refusal':
    'ask the operator of the proxy to allow it, or, if the proxy is not needed, add the host to NO_PROXY',
  redirect: 'if you trust the new address, give it with --url; the API key was not sent there',
  refused:
    'check the host and the port in --url, and whether a firewall refuses the connection; if they are right, try again later',
  'refused-by-proxy': CHECK_PROXY,
  service: 'check --url, and try again later; if it goes on, tell the operator of the service',
  'service-behind-proxy': 'check --url; if it is right, ask the operator of the proxy',
  tls: 'check the scheme, the host and the port in --url',
  'too-weak':
    'ask the operator of the service for a stronger certificate; if a proxy replaces the certificate, ask the operator of the proxy',
  'unknown-ca': () => {
    const file = process.env['NODE_EXTRA_CA_CERTS']
    return file
      ? `NODE_EXTRA_CA_CERTS is set to ${file}, but the CA of this certificate is not in it: add it if you trust it`
      : 'if a proxy or a test service uses its own CA, set NODE_EXTRA_CA_CERTS to the CA certificate file, or add it to those that this system trusts'
  },
  'wrong-clock': 'check the clock of this machine',
} as const satisfies Partial<Hints>
