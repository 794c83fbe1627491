// A certificate authority of its own for each server, and the certificates that it signs.
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Makes the authority in the folder: `ca.crt`, `ca.key`.
 * @param {string} dir
 * @returns {void}
 */
export function makeAuthority(dir) {
  openssl(dir, [
    'req',
    '-x509',
    ...newKey,
    '-keyout',
    'ca.key',
    '-out',
    'ca.crt',
    '-days',
    '2',
    '-subj',
    '/CN=cpusetd-test-ca',
  ]);
}

/**
 * Makes a certificate for a client of this name and group, or for the server itself: `<name>.crt`, `<name>.key`.
 * @param {string} dir
 * @param {{ name: string, group?: string, isServer?: boolean }} owner
 * @returns {void}
 */
export function makeCertificate(dir, { name, group, isServer = false }) {
  const subject = `/CN=${name}${group === undefined ? '' : `/O=${group}`}`;
  const usage = isServer ? 'serverAuth' : 'clientAuth';
  writeFileSync(
    join(dir, `${name}.ext`),
    `extendedKeyUsage=${usage}\n${isServer ? 'subjectAltName=IP:127.0.0.1,DNS:localhost\n' : ''}`,
  );
  openssl(dir, ['req', '-new', ...newKey, '-keyout', `${name}.key`, '-out', `${name}.csr`, '-subj', subject]);
  const sign = ['-CA', 'ca.crt', '-CAkey', 'ca.key', '-CAcreateserial', '-days', '2', '-extfile', `${name}.ext`];
  openssl(dir, ['x509', '-req', '-in', `${name}.csr`, '-out', `${name}.crt`, ...sign]);
}

/**
 * A kubeconfig for the client of this name, in JSON, which is YAML too.
 * @param {string} dir
 * @param {{ name: string, server: string }} client
 * @returns {string}
 */
export function formatKubeconfig(dir, { name, server }) {
  /** @param {string} file */
  const read = (file) => readFileSync(join(dir, file)).toString('base64');
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'test', cluster: { server, 'certificate-authority-data': read('ca.crt') } }],
    users: [{ name, user: { 'client-certificate-data': read(`${name}.crt`), 'client-key-data': read(`${name}.key`) } }],
    contexts: [{ name: 'test', context: { cluster: 'test', user: name } }],
    'current-context': 'test',
  });
}

const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];

/** @param {string} dir @param {string[]} args */
function openssl(dir, args) {
  execFileSync('openssl', args, { cwd: dir, stdio: ['ignore', 'ignore', 'pipe'] });
}
