// A program of another package: it is compiled and run against the packed one, once as CommonJS and once as an ES
// module.
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

import { ContainerState, markForRemoval, TtrpcError as NriTtrpcError, runNriPlugin } from 'cpusetd/nri';
import type { ContainerAdjustment, LinuxMemoryPolicy, NriHandlers, Hooks } from 'cpusetd/nri';
import { Mux, SocketChannel, StatusCode, TtrpcClient, TtrpcError, TtrpcServer, type ByteChannel } from 'cpusetd/ttrpc';

/** Answers of every kind, in the types of the package. */
const memoryPolicy: Partial<LinuxMemoryPolicy> = { nodes: '0' };
const hooks: Partial<Hooks> = { poststop: [] };
const handlers: NriHandlers = {
  configure: ({ config, runtime }) => console.error(config, runtime.requestTimeoutMs),
  synchronize: ({ containers }) => containers.map(({ id }) => ({ containerId: id, ignoreFailure: true })),
  createContainer: ({ container }) => ({
    adjust: { env: [{ key: markForRemoval('A') }], hooks, linux: { memoryPolicy, resources: { cpu: { cpus: '0' } } } },
    evict: container?.state === ContainerState.CONTAINER_RUNNING ? [{ containerId: container.id }] : [],
  }),
  startContainer: async ({ pod }, { timeoutMs = 0 }) => console.error(pod?.name, timeoutMs.toFixed()),
  validateContainerAdjustment: ({ adjust }) => ({ reject: isLong(adjust), reason: 'too many arguments' }),
};
const isLong = (adjust: ContainerAdjustment | undefined): boolean => (adjust?.args.length ?? 0) > 100;

/** Calls a server in this process through a channel of this kind. */
async function callThrough(name: string, channelOf: (socket: Socket) => ByteChannel): Promise<object> {
  const listener = createServer((socket) => {
    new TtrpcServer(channelOf(socket), {
      'example.Echo': {
        Echo: ({ payload }) => payload,
        Fail: () => {
          throw new TtrpcError(StatusCode.NOT_FOUND, 'nothing here');
        },
      },
    });
  });
  listener.listen(process.argv[2]);
  await once(listener, 'listening');
  const socket = connect(process.argv[2]!);
  const client = new TtrpcClient(channelOf(socket));
  const echoed = Buffer.from(await client.call('example.Echo', 'Echo', Buffer.from('hello'))).toString();
  const failure = await client.call('example.Echo', 'Fail', Buffer.alloc(0)).catch((error: unknown) => error);
  const code = failure instanceof NriTtrpcError ? failure.code : undefined;
  socket.destroy();
  listener.close();
  await client.closed;
  return { name, echoed, code };
}

async function main(): Promise<void> {
  const lines = [
    await callThrough('socket', (socket) => new SocketChannel(socket)),
    await callThrough('mux', (socket) => new Mux(socket).open(1)),
  ];
  const stop = new AbortController();
  const plugin = runNriPlugin({
    name: 'consumer',
    index: '00',
    socketPath: `${process.argv[2]}.none`,
    signal: stop.signal,
    handlers,
    onState: ({ phase }) => phase === 'disconnected' && stop.abort(),
  });
  await plugin.ended;
  const refused = await plugin.updateContainers([]).catch((error: unknown) => (error as TtrpcError).code);
  process.stdout.write(JSON.stringify([...lines, { refused }]));
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
