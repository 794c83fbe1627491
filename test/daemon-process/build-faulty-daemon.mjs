// Bundles src/main.ts with ports that a test can make throw: node build-faulty-daemon.mjs OUT
//
// All is the real daemon, except that some functions of these modules throw while their port is broken. The parent
// process breaks and mends ports over IPC ({ port, isBroken }), and receives a message for each exception ({ thrown:
// port }).
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { join } from 'node:path';
import { build } from 'esbuild';

const root = fileURLToPath(new URL('../..', import.meta.url));

/**
 * The exports that are replaced, by file; `real` is the unchanged module.
 * @type {Record<string, string>}
 */
const PORTS = {
  'src/host/index.ts': `
    export const openCgroups = (options) => {
      const cgroups = breakMethods(real.openCgroups(options), {
        readCpus: 'cgroup read', readCpuset: 'cgroup read', readQuota: 'cgroup read', listThreads: 'cgroup read',
        writeCpuset: 'cgroup write', writeQuota: 'cgroup write', widen: 'cgroup write',
      });
      return { ...cgroups, watch: (options) => breakMethods(cgroups.watch(options), { add: 'inotify watch' }) };
    };
    export const readOnline = breakFunction(real.readOnline, 'sysfs read');
  `,
  'src/state/index.ts': `
    export const openStateStore = (options) => {
      const opened = real.openStateStore(options);
      const { store } = opened;
      const save = breakFunction((state) => store.save(state), 'save');
      return { ...opened, store: new Proxy(store, { get: (all, key) => (key === 'save' ? save : all[key]) }) };
    };
  `,
  'src/app/lifecycle/heartbeat.ts': `export const writeHeartbeat = breakFunction(real.writeHeartbeat, 'sign of life');`,
  // Its limit is 30 s for all short periods, which round-watch.test.ts shows. Here it is shorter.
  'src/app/reconcile/round-watch.ts': `
    export class RoundWatch extends real.RoundWatch {
      constructor(parts) { super({ ...parts, leastMs: 6_000 }); }
    }
  `,
  'src/app/node/kubelet-cpu-manager.ts': `
    export class KubeletCpuManagerWatch extends real.KubeletCpuManagerWatch {
      look() { throwIfBroken('kubelet file'); super.look(); }
    }
  `,
  'src/app/status/admin-backend.ts': `
    export const createAdminBackend = (parts) => real.createAdminBackend({ ...parts, facts: breakFunction(parts.facts, 'status') });
  `,
  'src/admin/metrics/metrics.ts': `
    export class Metrics extends real.Metrics {
      decisionTook(seconds) { throwIfBroken('metrics'); super.decisionTook(seconds); }
      stateWriteTook(seconds) { throwIfBroken('metrics'); super.stateWriteTook(seconds); }
      repaired(outcome) { throwIfBroken('metrics'); super.repaired(outcome); }
    }
  `,
  'src/kube/index.ts': `
    export class KubeClient extends real.KubeClient {
      async send(request) { throwIfBroken('API server client'); return super.send(request); }
    }
  `,
  'src/cri/client/index.ts': `
    export const createCriClient = (endpoint) => {
      const client = breakMethods(real.createCriClient(endpoint), {
        listContainers: 'CRI client', listPods: 'CRI client', updateContainer: 'CRI client',
      });
      return { ...client, listContainers: async (...args) => { await hold('CRI answers'); return client.listContainers(...args); } };
    };
  `,
  'src/core/transition/index.ts': `export const handle = breakFunction(real.handle, 'NRI handler');`,
};

const SWITCH = `
  import fs from 'node:fs';
  const broken = new Set();
  export function throwIfBroken(port) {
    if (!broken.has(port)) return;
    process.send?.({ thrown: port });
    throw new TypeError('an injected fault: ' + port);
  }
  export const breakFunction = (work, port) => (...args) => { throwIfBroken(port); return work(...args); };
  export const breakMethods = (object, ports) => ({
    ...object,
    ...Object.fromEntries(Object.entries(ports).map(([name, port]) => [name, breakFunction((...args) => object[name](...args), port)])),
  });
  const held = new Map();
  /** Waits as long as the port is broken, past every deadline. */
  export async function hold(port) {
    if (!broken.has(port)) return;
    process.send?.({ thrown: port });
    await new Promise((resolve) => held.set(port, resolve));
  }
  process.on('message', ({ port, isBroken }) => {
    if (!isBroken) held.get(port)?.();
    if (isBroken && port === 'uncaught exception') setImmediate(() => { throw new Error('nobody catches this'); });
    else if (isBroken && port === 'unhandled rejection') Promise.reject(new Error('nobody catches this'));
    else if (isBroken) broken.add(port);
    else broken.delete(port);
  });
  process.channel?.unref();
  const { toISOString } = Date.prototype;
  Date.prototype.toISOString = function () { throwIfBroken('clock'); return toISOString.call(this); };
  const { openSync, writeSync } = fs;
  // A write to a plain file would keep the rest of a longer old value; a cgroup file does not.
  fs.openSync = (path, flags, ...rest) => {
    const fd = openSync(path, flags, ...rest);
    if (flags === 'r+' && String(path).includes('/cgroup/')) fs.ftruncateSync(fd);
    return fd;
  };
  fs.writeSync = (fd, ...rest) => { if (fd === 1) throwIfBroken('log'); return writeSync(fd, ...rest); };
`;

const namespace = 'port';
/** @type {import('esbuild').Plugin} */
const breakPorts = {
  name: 'break-ports',
  setup(builder) {
    builder.onResolve({ filter: /^fault-switch$/ }, () => ({ path: 'fault-switch', namespace }));
    builder.onResolve({ filter: /^[./]/ }, async ({ path, pluginData, kind, ...args }) => {
      if (pluginData === 'real' || kind === 'entry-point') return undefined;
      const found = await builder.resolve(path, { ...args, kind, pluginData: 'real' });
      const file = found.path.slice(root.length);
      return file in PORTS && args.namespace !== namespace ? { path: file, namespace } : undefined;
    });
    builder.onLoad({ filter: /./, namespace }, ({ path }) => ({
      resolveDir: root,
      contents:
        path === 'fault-switch'
          ? SWITCH
          : `import * as real from ${JSON.stringify(join(root, path))};
             import { breakFunction, breakMethods, hold, throwIfBroken } from 'fault-switch';
             export * from ${JSON.stringify(join(root, path))};
             ${PORTS[path]}`,
    }));
  },
};

const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
await build({
  absWorkingDir: root,
  bundle: true,
  platform: 'node',
  target: 'node20',
  format: 'cjs',
  logLevel: 'error',
  stdin: { contents: `import 'fault-switch'; import './src/main';`, resolveDir: root, loader: 'ts' },
  outfile: process.argv[2] ?? '',
  define: { __CPUSETD_VERSION__: JSON.stringify(version), __CPUSETD_PAGE__: 'undefined' },
  plugins: [breakPorts],
});
