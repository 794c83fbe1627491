// The control plane of a cluster: etcd, kube-apiserver and, if wanted, kube-controller-manager and schedulers. All of
// it is in a folder that goes with it.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ensureGoPrograms } from '../go-programs/build.mjs';
import { readRecipe } from '../go-programs/recipes.mjs';
import { makeAuthority, makeCertificate, makeSigningKey, formatKubeconfig } from './certificates.mjs';
import {
  apiServerArgs,
  configuredSchedulerArgs,
  controllerManagerArgs,
  etcdArgs,
  schedulerArgs,
  serviceAddress,
} from './commands.mjs';
import { ensureDebianPrograms } from './debian-programs.mjs';
import { findPort } from './find-port.mjs';
import { kubeconfigOfExamples, prepareSchedulerPlugins, schedulerPlugins } from './scheduler-plugins.mjs';
import { ServerProcess } from './server-process.mjs';
import { waitUntilServed } from './wait-until-served.mjs';

/** @typedef {'kube-controller-manager' | 'kube-scheduler' | 'kube-scheduler-plugins'} Further */

/** The components that a control plane may have beside etcd and the API server. @type {Further[]} */
export const allFurther = ['kube-controller-manager', 'kube-scheduler', schedulerPlugins];

/**
 * The identities with a kubeconfig, by the name of its file. @type {{ file: string, name: string, group?: string }[]}
 */
const identities = [
  { file: 'admin', name: 'admin', group: 'system:masters' },
  { file: 'nobody', name: 'nobody', group: 'nobodies' },
  { file: 'kube-controller-manager', name: 'system:kube-controller-manager' },
  { file: 'kube-scheduler', name: 'system:kube-scheduler' },
];

/**
 * Starts the control plane and waits until the API server is ready.
 * @param {object} options
 * @param {string} [options.address] where the API server listens; default: loopback, so that no node outside can reach
 * it
 * @param {number} [options.port] of the API server; default: one that is free
 * @param {Further[]} [options.further] the components that are started beside etcd and the API server; others can be
 * started later
 * @param {string} [options.schedulerConfig] the configuration of kube-scheduler-plugins, read at each of its starts;
 * default: that of `deploy`
 * @param {string} [options.kubeSchedulerConfig] the configuration of kube-scheduler, read at each of its starts;
 * default: none
 * @param {import('../shared/log.mjs').Log} [options.log]
 * @returns the facts about it (JSON), and `kill`, `start` (of a component) and `stop`
 */
export async function startControlPlane({
  address = '127.0.0.1',
  port,
  further = [],
  schedulerConfig,
  kubeSchedulerConfig,
  log = () => {},
}) {
  const { dir: programs, versions: kubernetes } = ensureGoPrograms('kubernetes', { log });
  const { etcd, versions } = ensureDebianPrograms({ log });
  const work = mkdtempSync(join(tmpdir(), 'cpusetd-api-'));
  const endpoints = {
    etcd: `http://127.0.0.1:${await findPort()}`,
    etcdPeer: `http://127.0.0.1:${await findPort()}`,
    address,
    port: port ?? (await findPort()),
  };
  const server = `https://${address}:${endpoints.port}`;
  makeIdentities(work, { address, server });
  /** @param {string} name */
  const file = (name) => join(work, name);
  mkdirSync(file('etcd'), { mode: 0o700 });
  writeFileSync(file('audit-policy.yaml'), JSON.stringify(auditPolicy));

  /** @param {string} name @param {string[]} args */
  const ofKubernetes = (name, args) => new ServerProcess(join(programs, name), args, work);
  /** @type {Record<string, ServerProcess>} */
  const components = {
    etcd: new ServerProcess(etcd, etcdArgs(file, endpoints), work),
    'kube-apiserver': ofKubernetes('kube-apiserver', apiServerArgs(file, endpoints)),
    'kube-controller-manager': ofKubernetes('kube-controller-manager', controllerManagerArgs(file)),
    'kube-scheduler': ofKubernetes('kube-scheduler', schedulerArgs(file)),
  };

  const facts = {
    server,
    kubeconfigs: Object.fromEntries(identities.map(({ file: name }) => [name, file(`${name}.kubeconfig`)])),
    versions: { ...kubernetes, ...versions, [schedulerPlugins]: readRecipe('scheduler-plugins').version },
    programs,
    work,
    auditLog: file('audit.log'),
  };

  /** @param {string} name */
  async function start(name) {
    if (name === schedulerPlugins) {
      const { program, configFile } = prepareSchedulerPlugins({ work, programs, schedulerConfig, log });
      components[name] ??= new ServerProcess(program, [`--config=${configFile}`, '--secure-port=0', '--v=4'], work);
    }
    if (name === 'kube-scheduler' && kubeSchedulerConfig !== undefined) {
      const config = readFileSync(kubeSchedulerConfig, 'utf8');
      writeFileSync(file('scheduler.yaml'), config.replaceAll(kubeconfigOfExamples, file('kube-scheduler.kubeconfig')));
      components[name] = ofKubernetes(name, configuredSchedulerArgs(file('scheduler.yaml')));
    }
    const component = componentOf(name);
    component.start();
    if (name === 'kube-apiserver') await waitUntilServed(server, work, [componentOf('etcd'), component]);
  }

  /** @param {string} name */
  function componentOf(name) {
    const component = components[name];
    if (component === undefined)
      throw new Error(`no component ${name}; there are ${Object.keys(components).join(', ')}`);
    return component;
  }

  async function stop() {
    for (const component of Object.values(components).reverse()) await component.kill();
    rmSync(work, { recursive: true, force: true });
  }

  try {
    for (const name of ['etcd', 'kube-apiserver', ...further]) await start(name);
    return { facts, start, kill: (/** @type {string} */ name) => componentOf(name).kill(), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** All requests with their user, verb, object and answer, without bodies. */
const auditPolicy = {
  apiVersion: 'audit.k8s.io/v1',
  kind: 'Policy',
  omitStages: ['RequestReceived'],
  rules: [{ level: 'Metadata' }],
};

/** @param {string} work @param {{ address: string, server: string }} at */
function makeIdentities(work, { address, server }) {
  makeAuthority(work);
  makeSigningKey(work, 'tokens');
  const addresses = [...new Set([address, '127.0.0.1', serviceAddress])];
  // It is the API server's identity towards kubelets too.
  makeCertificate(work, { file: 'server', name: 'kube-apiserver', group: 'system:masters', addresses });
  for (const identity of identities) {
    makeCertificate(work, identity);
    const path = join(work, `${identity.file}.kubeconfig`);
    writeFileSync(path, formatKubeconfig(work, { file: identity.file, server }), { mode: 0o600 });
  }
}
