import { fromBinary } from '@bufbuild/protobuf';
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt';

import { readDescriptorRegistry } from '../../../src/admin/server/descriptor-registry';

const registry = readDescriptorRegistry();
const namesOf = (files: Uint8Array[] | undefined) =>
  files?.map((bytes) => fromBinary(FileDescriptorProtoSchema, bytes).name);

test('services and messages are known by their full names', () => {
  expect(registry.services).toContain('cpusetd.v1.CpuManager');
  expect([registry.hasMessage('cpusetd.v1.Status'), registry.hasMessage('cpusetd.v1.Nope')]).toEqual([true, false]);
});

test.each([
  'cpusetd.v1.CpuManager',
  'cpusetd.v1.CpuManager.GetStatus',
  'cpusetd.v1.Status.node',
  'cpusetd.v1.VERDICT_KIND_KEPT',
])('the files of %s begin with the one that declares it, and have its imports', (symbol) => {
  const names = namesOf(registry.filesOfSymbol(symbol))!;
  expect(names[0]).toBe('cpusetd/v1/cpusetd.proto');
  expect(names).toContain('google/protobuf/timestamp.proto');
});

test('a file is found by its import name, and an unknown name is undefined', () => {
  expect(namesOf(registry.filesOfFile('google/protobuf/timestamp.proto'))).toEqual(['google/protobuf/timestamp.proto']);
  expect([registry.filesOfFile('nope.proto'), registry.filesOfSymbol('nope')]).toEqual([undefined, undefined]);
});
