// Logs the containers of a node, one JSON object a line: those that run already, then each one that starts, stops or is
// removed.
//
//   node dist/examples/log-containers.js [SOCKET]      SOCKET: default /var/run/nri/nri.sock
import { Console } from 'node:console';

import { ContainerState, runNriPlugin, type ContainerRequest } from 'cpusetd/nri';

const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());

function print(event: string, { pod, container }: ContainerRequest): void {
  const { name, id } = container ?? {};
  const line = { event, namespace: pod?.namespace, pod: pod?.name, container: name, id };
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

runNriPlugin({
  name: 'log-containers',
  index: '90',
  socketPath: process.argv[2],
  signal: stop.signal,
  log: new Console(process.stderr),
  handlers: {
    synchronize({ pods, containers }) {
      const podOf = new Map(pods.map((pod) => [pod.id, pod]));
      for (const container of containers) {
        if (container.state === ContainerState.CONTAINER_RUNNING)
          print('running', { pod: podOf.get(container.podSandboxId), container });
      }
    },
    postStartContainer: (request) => print('started', request),
    stopContainer: (request) => print('stopped', request),
    removeContainer: (request) => print('removed', request),
  },
});
