/* eslint-disable @typescript-eslint/no-explicit-any -- messages of another codec have no generated types */
import { create, createFileRegistry, fromBinary } from '@bufbuild/protobuf';
import { FileDescriptorProtoSchema, FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';

import { loadProtoClient, readOneByOne } from '../load-proto-client';
import { withAdminRig } from '../with-admin-server';

const PROTO = 'grpc/reflection/v1/reflection.proto';

/** Sends all requests over one stream. */
async function ask(requests: object[]): Promise<any[]> {
  const answers: any[] = [];
  await withAdminRig(async ({ start, socketPath }) => {
    await start();
    const client = loadProtoClient(PROTO, 'grpc.reflection.v1.ServerReflection', `unix:${socketPath}`);
    const stream = client.ServerReflectionInfo();
    const next = readOneByOne(stream);
    for (const request of requests) {
      stream.write(request);
      answers.push(await next());
    }
    stream.end();
    expect(await next()).toBeUndefined();
    client.close();
  });
  return answers;
}

test('all services are listed', async () => {
  const [{ listServicesResponse }] = await ask([{ listServices: '*' }]);
  expect(listServicesResponse.service.map(({ name }: { name: string }) => name).sort()).toEqual([
    'cpusetd.v1.CpuManager',
    'cpusetd.v1.Profiler',
    'grpc.health.v1.Health',
    'grpc.reflection.v1.ServerReflection',
    'grpc.reflection.v1alpha.ServerReflection',
    'v1.PodResourcesLister',
  ]);
});

test.each([
  'cpusetd.v1.CpuManager',
  'cpusetd.v1.CpuManager.GetStatus',
  'cpusetd.v1.ContainerStatus',
  'cpusetd.v1.ContainerStatus.because',
  'cpusetd.v1.WatchStatusResponse.event',
  'cpusetd.v1.VerdictKind',
  'cpusetd.v1.VERDICT_KIND_KEPT',
])('the files of %s are enough to build the service', async (symbol) => {
  const [{ fileDescriptorResponse }] = await ask([{ fileContainingSymbol: symbol }]);
  const file = fileDescriptorResponse.fileDescriptorProto.map((bytes: Uint8Array) =>
    fromBinary(FileDescriptorProtoSchema, bytes),
  );
  expect(file[0].name).toBe('cpusetd/v1/cpusetd.proto');
  const registry = createFileRegistry(create(FileDescriptorSetSchema, { file: file.reverse() }));
  expect(registry.getService('cpusetd.v1.CpuManager')?.methods.map(({ name }) => name)).toEqual([
    'GetStatus',
    'WatchStatus',
    'ListAssignments',
    'GetTopology',
    'Explain',
  ]);
});

test('fileByFilename returns that file', async () => {
  const [{ fileDescriptorResponse }] = await ask([{ fileByFilename: 'google/protobuf/timestamp.proto' }]);
  expect(fileDescriptorResponse.fileDescriptorProto).toHaveLength(1);
});

test('an unknown name is an error in the answer, and the stream stays open', async () => {
  const answers = await ask([
    { fileByFilename: '/etc/passwd' },
    { fileContainingSymbol: 'cpusetd.v1.Nope' },
    { fileContainingExtension: { containingType: 'cpusetd.v1.Status', extensionNumber: 7 } },
    { allExtensionNumbersOfType: 'cpusetd.v1.Nope' },
    {},
    { allExtensionNumbersOfType: 'cpusetd.v1.Status' },
  ]);
  expect(answers.map((answer) => answer.errorResponse?.errorCode)).toEqual([5, 5, 5, 5, 3, undefined]);
  expect(answers.at(-1).allExtensionNumbersResponse).toEqual({ baseTypeName: 'cpusetd.v1.Status' });
});

test('the service is also served under its v1alpha name', async () => {
  await withAdminRig(async ({ start, socketPath }) => {
    await start();
    const client = loadProtoClient(
      'grpc/reflection/v1alpha/reflection.proto',
      'grpc.reflection.v1alpha.ServerReflection',
      `unix:${socketPath}`,
    );
    const stream = client.ServerReflectionInfo();
    stream.write({ listServices: '' });
    expect((await readOneByOne(stream)()).listServicesResponse.service).toHaveLength(6);
    stream.end();
    client.close();
  });
});
