import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { encodeErrorTrailers } from '../../../src/cri/proxy/grpc/error-headers';
import { toDetailedStatus } from '../../../src/cri/proxy/proxy-errors';

const proxyFolder = join(__dirname, '../../../src/cri/proxy');

/**
 * The imports that each folder of the protocols may have: other files of the protocols, gRPC's status, Node and
 * protobuf.
 */
const allowedImport =
  /^(\.\/|\.\.\/http2\/|\.\.\/\.\.\/\.\.\/\.\.\/gen\/google\/rpc\/|\.\.\/\.\.\/\.\.\/wire$|node:|@bufbuild\/)/;

test.each(['http2', 'grpc'])('%s/ does not name a peer of the proxy, and imports no file that does', (folder) => {
  const files = readdirSync(join(proxyFolder, folder));
  expect(files).not.toEqual([]);
  const faults = files.flatMap((file) => {
    const text = readFileSync(join(proxyFolder, folder, file), 'utf8');
    const imports = [...text.matchAll(/from '([^']+)'/g)].map(([, specifier]) => specifier!);
    const words = [...text.matchAll(/kubelet|runtime|cpuset|container|\bcri\b/gi)].map(([word]) => word);
    return [...words, ...imports.filter((specifier) => !allowedImport.test(specifier))].map(
      (each) => `${file}: ${each}`,
    );
  });
  expect(faults).toEqual([]);
});

test('an error of cpusetd gives the same trailers, byte for byte, as in earlier versions', () => {
  const error = {
    code: 8,
    message: '3 CPUs wanted, 2 are free — größer',
    reason: 'NOT_ENOUGH_CPUS',
    metadata: { free: '2', wanted: '3' },
  };
  expect(encodeErrorTrailers(toDetailedStatus(error)).toString('hex')).toBe(
    [
      '100b677270632d7374617475730138100c677270632d6d6573736167653d637075736574643a203320435055732077616e74',
      '65642c20322061726520667265652025453225383025393420677225433325423625433325394665721017677270632d7374',
      '617475732d64657461696c732d62696e7f49434167534c324e7764584e6c6447513649444d67513142566379423359573530',
      '5a5751734944496759584a6c49475a795a575567346f435549476479773762446e325679476d454b4b485235634755755a32',
      '39765a32786c595842706379356a623230765a3239765a32786c4c6e4a7759793546636e4a76636b6c755a6d38534e516f50',
      '546b39555830564f5431564853463944554656544567706a6348567a5a58526b4c6d6c7647676b4b42475a795a5755534154',
      '496143776f47643246756447566b4567457a',
    ].join(''),
  );
});
