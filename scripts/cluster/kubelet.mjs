// Runs a kubelet in the mount namespace of a private runtime (scripts/runtime) until it is ended. For the tests of
// clusters.
//
// node scripts/cluster/kubelet.mjs --control-plane JSON --runtime JSON --name NODE --address IP [--settings JSON]
// [--attached]
//
// The facts of the control plane and of the runtime are those of their `ready` lines. `settings` are merged into the
// kubelet's configuration. Standard output carries one JSON line per event: `ready` when the process runs (the Node is
// registered later), then `stopped`. With --attached it takes the lines `kill` and `start`, answered by `killed` and
// `started`.
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { listCgroupMounts, runtimeVariable } from '../runtime/leftovers.mjs';
import { logToStderr } from '../shared/log.mjs';
import { serveAttached } from '../shared/serve-attached.mjs';
import { formatKubeconfig, makeCertificate } from './certificates.mjs';
import { formatPodNetwork } from './pod-network.mjs';
import { formatKubeletConfig } from './kubelet-config.mjs';
import { ensureKubelet } from './kubelet-programs.mjs';
import { ServerProcess } from './server-process.mjs';

/** @typedef {{ server: string, work: string }} ControlPlaneFacts */
/** @typedef {{ suite: string, work: string, namespacePid: number, cgroupRoot: string }} RuntimeFacts */

const { values } = parseArgs({
  options: {
    'control-plane': { type: 'string', default: '' },
    runtime: { type: 'string', default: '' },
    name: { type: 'string', default: '' },
    address: { type: 'string', default: '' },
    settings: { type: 'string', default: '{}' },
    attached: { type: 'boolean', default: false },
  },
});
/** @type {ControlPlaneFacts} */
const controlPlane = JSON.parse(values['control-plane']);
/** @type {RuntimeFacts} */
const runtime = JSON.parse(values.runtime);

/** Makes the node's files and starts its kubelet. */
async function startKubelet() {
  const { name, address } = values;
  const { work, server } = controlPlane;
  const { program, version } = ensureKubelet(runtime.suite, { log: logToStderr });
  makeCertificate(work, { file: name, name: `system:node:${name}`, group: 'system:nodes' });
  makeCertificate(work, { file: `${name}-server`, name, addresses: [address] });
  // The runtime's folder `run` is /run in its mount namespace.
  const dir = join(runtime.work, 'run/kubernetes');
  mkdirSync(join(dir, 'manifests'), { recursive: true });
  writeFileSync(join(dir, 'kubeconfig'), formatKubeconfig(work, { file: name, server }), { mode: 0o600 });
  for (const suffix of ['crt', 'key'])
    writeFileSync(join(dir, `server.${suffix}`), readFileSync(join(work, `${name}-server.${suffix}`)), { mode: 0o600 });
  writeFileSync(join(dir, 'ca.crt'), readFileSync(join(work, 'ca.crt')));
  const configFile = join(dir, 'config.json');
  const settings = { address, cgroupRoot: runtime.cgroupRoot, ...JSON.parse(values.settings) };
  writeFileSync(configFile, formatKubeletConfig(settings));
  makeCgroupRoot(runtime.cgroupRoot);
  mkdirSync(join(runtime.work, 'run/cni'), { recursive: true });
  writeFileSync(join(runtime.work, 'run/cni/10-bridge.conflist'), formatPodNetwork(address));

  mkdirSync(join(runtime.work, 'run/bin'), { recursive: true });
  cpSync(program, join(runtime.work, 'run/bin/kubelet'));
  const kubelet = new ServerProcess(
    '/run/bin/kubelet',
    [
      ...['--config=/run/kubernetes/config.json', '--kubeconfig=/run/kubernetes/kubeconfig'],
      ...[`--hostname-override=${name}`, `--node-ip=${address}`, '--v=2'],
    ],
    runtime.work,
    {
      namespacePid: runtime.namespacePid,
      // The mark lets the end of the runtime find it.
      env: { PATH: '/run/bin:/usr/sbin:/usr/bin:/sbin:/bin', [runtimeVariable]: runtime.work },
    },
  );
  kubelet.restartAfterMs = 200; // it ends when the runtime does not answer at its start
  kubelet.start();
  const facts = {
    name,
    version,
    configFile,
    manifests: join(dir, 'manifests'),
    rootDir: join(runtime.work, 'kubelet'),
    log: kubelet.logFile,
  };
  return { facts, kubelet };
}

/**
 * Makes the parent of all pods' cgroups in each hierarchy: the kubelet wants it to be there.
 * @param {string} path
 */
function makeCgroupRoot(path) {
  for (const point of listCgroupMounts()) {
    const dir = join(point, path);
    mkdirSync(dir, { recursive: true });
    // In the first version of cpuset a new cgroup has no CPUs and no memory nodes.
    for (const file of ['cpuset.cpus', 'cpuset.mems']) {
      const own = join(dir, file);
      if (existsSync(own) && readFileSync(own, 'utf8').trim() === '')
        writeFileSync(own, readFileSync(join(point, file), 'utf8'));
    }
  }
}

await serveAttached(startKubelet, {
  attached: values.attached,
  what: 'kubelet',
  commands: {
    async kill({ kubelet }, say) {
      await kubelet.kill();
      say('killed');
    },
    async start({ kubelet }, say) {
      kubelet.start();
      say('started');
    },
  },
  async stop({ kubelet }, say) {
    await kubelet.kill();
    say('stopped');
  },
});
