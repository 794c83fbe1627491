// A certificate authority of its own for each cluster, and what it signs.
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Makes the authority in the folder: `ca.crt`, `ca.key`.
 * @param {string} dir
 * @returns {void}
 */
export function makeAuthority(dir) {
  const files = ['-keyout', 'ca.key', '-out', 'ca.crt'];
  openssl(dir, ['req', '-x509', ...newKey, ...files, '-days', '2', '-subj', '/CN=cpusetd-test-ca']);
}

/**
 * Makes a certificate for a client of this name and group, or for a server at these addresses: `<file>.crt`,
 * `<file>.key`.
 * @param {string} dir
 * @param {object} owner
 * @param {string} owner.name the user's name, as the API server reads it
 * @param {string} [owner.group]
 * @param {string[]} [owner.addresses] of a server; absent: it is a client
 * @param {string} [owner.file] the start of the files' names; default: the name
 * @returns {void}
 */
export function makeCertificate(dir, { name, group, addresses, file = name }) {
  const subject = `${group === undefined ? '' : `/O=${group}`}/CN=${name}`;
  const usages = addresses === undefined ? 'clientAuth' : 'serverAuth,clientAuth';
  const names = ['DNS:localhost', ...(addresses ?? []).map((address) => `IP:${address}`)].join(',');
  const isServer = addresses !== undefined;
  writeFileSync(join(dir, `${file}.ext`), `extendedKeyUsage=${usages}\n${isServer ? `subjectAltName=${names}\n` : ''}`);
  openssl(dir, ['req', '-new', ...newKey, '-keyout', `${file}.key`, '-out', `${file}.csr`, '-subj', subject]);
  const sign = ['-CA', 'ca.crt', '-CAkey', 'ca.key', '-days', '2', '-extfile', `${file}.ext`];
  // A file of serial numbers would be shared by processes that make certificates at once.
  const serial = ['-set_serial', `0x01${randomBytes(15).toString('hex')}`];
  openssl(dir, ['x509', '-req', '-in', `${file}.csr`, '-out', `${file}.crt`, ...serial, ...sign]);
}

/**
 * Makes the key that signs the tokens of service accounts: `<name>.key`, `<name>.pub`.
 * @param {string} dir
 * @param {string} name
 * @returns {void}
 */
export function makeSigningKey(dir, name) {
  openssl(dir, ['genpkey', '-algorithm', 'EC', '-pkeyopt', 'ec_paramgen_curve:P-256', '-out', `${name}.key`]);
  openssl(dir, ['pkey', '-in', `${name}.key`, '-pubout', '-out', `${name}.pub`]);
}

/**
 * A kubeconfig for the client whose certificate has this file name, in JSON, which is YAML too.
 * @param {string} dir
 * @param {{ file: string, server: string }} client
 * @returns {string}
 */
export function formatKubeconfig(dir, { file, server }) {
  /** @param {string} name */
  const read = (name) => readFileSync(join(dir, name)).toString('base64');
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'test', cluster: { server, 'certificate-authority-data': read('ca.crt') } }],
    users: [
      {
        name: file,
        user: { 'client-certificate-data': read(`${file}.crt`), 'client-key-data': read(`${file}.key`) },
      },
    ],
    contexts: [{ name: 'test', context: { cluster: 'test', user: file } }],
    'current-context': 'test',
  });
}

const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];

/** @param {string} dir @param {string[]} args */
function openssl(dir, args) {
  execFileSync('openssl', args, { cwd: dir, stdio: ['ignore', 'ignore', 'pipe'] });
}
