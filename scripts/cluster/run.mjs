// Runs a control plane until it is ended. For people, and for the end-to-end tests.
//
// node scripts/cluster/run.mjs [--only-api-server] [--scheduler-plugins] [--scheduler-config FILE]
// [--kube-scheduler-config FILE]
//                               [--address IP] [--port N] [--attached]
//
// With --scheduler-plugins kube-scheduler-plugins runs beside kube-scheduler, with
// deploy/scheduler-plugins/scheduler.yaml or FILE. With --kube-scheduler-config kube-scheduler has the configuration
// FILE, which is read at each of its starts.
//
// Standard output carries one JSON line per event: `ready` (server, kubeconfigs, versions), then `stopped`. It ends on
// SIGINT or SIGTERM. With --attached it also ends when standard input closes, and takes the lines `kill COMPONENT` and
// `start COMPONENT`, answered by `killed` and `started`; that may be a component that was not started at first.
import { parseArgs } from 'node:util';
import { logToStderr } from '../shared/log.mjs';
import { serveAttached } from '../shared/serve-attached.mjs';
import { allFurther, startControlPlane } from './control-plane.mjs';

/** @typedef {Awaited<ReturnType<typeof startControlPlane>>} ControlPlane */
/** @typedef {import('../shared/serve-attached.mjs').Say} Say */

const { values } = parseArgs({
  options: {
    'only-api-server': { type: 'boolean', default: false },
    'scheduler-plugins': { type: 'boolean', default: false },
    'scheduler-config': { type: 'string' },
    'kube-scheduler-config': { type: 'string' },
    address: { type: 'string' },
    port: { type: 'string' },
    attached: { type: 'boolean', default: false },
  },
});
/** @type {import('./control-plane.mjs').Further[]} */
const further = values['only-api-server'] ? [] : ['kube-controller-manager', 'kube-scheduler'];
if (values['scheduler-plugins']) further.push('kube-scheduler-plugins');
const { address, attached, 'scheduler-config': schedulerConfig, 'kube-scheduler-config': kubeSchedulerConfig } = values;
const port = values.port === undefined ? undefined : Number(values.port);

const commands = Object.fromEntries(
  ['etcd', 'kube-apiserver', ...allFurther].flatMap((name) => [
    [
      `kill ${name}`,
      async (/** @type {ControlPlane} */ cluster, /** @type {Say} */ say) => {
        await cluster.kill(name);
        say('killed');
      },
    ],
    [
      `start ${name}`,
      async (/** @type {ControlPlane} */ cluster, /** @type {Say} */ say) => {
        await cluster.start(name);
        say('started');
      },
    ],
  ]),
);
await serveAttached(
  () => startControlPlane({ address, port, further, schedulerConfig, kubeSchedulerConfig, log: logToStderr }),
  {
    attached,
    what: 'control plane',
    commands,
    async stop(cluster, say) {
      await cluster.stop();
      say('stopped');
    },
  },
);
