/**
 * The echoing plugin of nri-echo.ts and nri.ts. Arguments: `ttrpc` or `bare`, the socket to connect to, bytes of a bare
 * request.
 */
import { connect } from 'node:net';

import { Mux, TtrpcServer } from '../src/wire';

const [kind, path, requestBytes] = process.argv.slice(2) as [string, string, string];
const answer = Buffer.alloc(30, 1);
const socket = connect(path);

if (kind === 'ttrpc') {
  const mux = new Mux(socket);
  const nothing = new Uint8Array(0);
  new TtrpcServer(mux.open(1), {
    'nri.pkg.api.v1alpha1.Plugin': {
      CreateContainer: () => answer,
      StopContainer: () => nothing,
      RemovePodSandbox: () => nothing,
    },
  });
} else {
  let received = 0;
  socket.on('data', (chunk) => {
    received += chunk.length;
    for (; received >= Number(requestBytes); received -= Number(requestBytes)) socket.write(answer);
  });
}
