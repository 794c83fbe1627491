// The proxies that bench/proxy compares, each in a process of its own, as in production. `frames` is ours: HTTP/2
// frames passed on. `streams` is the simple way: a node:http2 server and client, stream by stream. `bytes` passes on
// what it reads and looks at nothing: the limit of any proxy on node:net.
import * as http2 from 'node:http2';
import { connect, createServer, type Socket } from 'node:net';
import { CriProxy, UpstreamMonitor, type Interceptor } from '../src/cri/proxy';

const [kind, listenPath, runtimePath] = process.argv.slice(2) as [string, string, string];
const patch = Buffer.from([0x12, 0x09, 0x7a, 0x07, 0x0a, 0x05, 0x32, 0x03, 0x32, 0x2d, 0x33]);
const createContainer: Interceptor = {
  onRequest: (message) => Buffer.concat([message, patch]),
  onResponse: () => undefined,
  onEnd: () => undefined,
};

if (kind === 'frames') {
  void CriProxy.open({
    listen: { path: listenPath },
    upstream: new UpstreamMonitor(runtimePath),
    interceptors: new Map([['/runtime.v1.RuntimeService/CreateContainer', createContainer]]),
    endlessPaths: [],
    reportFault: (fault) => console.error(fault),
  }).then(() => process.send?.('ready'));
} else if (kind === 'bytes') {
  serveBytes();
} else {
  serveStreams();
}

function serveBytes(): void {
  const pass = (from: Socket, to: Socket): void => {
    from.on('data', (chunk) => void to.write(chunk));
    from.on('error', () => undefined);
    from.on('close', () => to.destroy());
  };
  createServer((kubelet) => {
    const runtime = connect(runtimePath);
    pass(kubelet, runtime);
    pass(runtime, kubelet);
  }).listen(listenPath, () => process.send?.('ready'));
}

/** As short as it can be: enough to measure the data path with, not to use. */
function serveStreams(): void {
  const windows = { settings: { initialWindowSize: 1_048_576 }, maxSessionMemory: 1000 };
  const upstream = http2.connect('http://localhost', { ...windows, createConnection: () => connect(runtimePath) });
  const server = http2.createServer(windows);
  server.on('stream', (down, headers) => {
    const up = upstream.request(headers, { endStream: false });
    down.pipe(up);
    up.on('response', (answer, flags) => {
      if ((flags & http2.constants.NGHTTP2_FLAG_END_STREAM) !== 0) {
        down.respond(answer, { endStream: true });
        return;
      }
      let trailers: http2.IncomingHttpHeaders = {};
      up.on('trailers', (fields) => (trailers = fields));
      down.respond(answer, { waitForTrailers: true });
      down.on('wantTrailers', () => down.sendTrailers(trailers));
      up.pipe(down);
    });
    up.on('error', () => down.close(http2.constants.NGHTTP2_CANCEL));
    down.on('error', () => up.close(http2.constants.NGHTTP2_CANCEL));
  });
  server.listen(listenPath, () => process.send?.('ready'));
}
