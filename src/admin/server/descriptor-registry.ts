import { createFileRegistry, fromBinary, toBinary, type DescFile, type FileRegistry } from '@bufbuild/protobuf';
import { nestedTypes } from '@bufbuild/protobuf/reflect';
import { FileDescriptorProtoSchema, FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';

import { descriptorSetBase64 } from '../../../gen/descriptors';

/** The descriptors of our services, by the names that a reflection client asks for. */
export interface DescriptorRegistry {
  readonly services: readonly string[];
  hasMessage(typeName: string): boolean;
  /** The serialized file that declares the name, then all that it imports; undefined when nothing has the name. */
  filesOfSymbol(symbol: string): Uint8Array[] | undefined;
  /** The same for a file name as in an import. */
  filesOfFile(name: string): Uint8Array[] | undefined;
}

/** Parses the descriptors that were bundled; takes some ten milliseconds. */
export function readDescriptorRegistry(): DescriptorRegistry {
  const set = fromBinary(FileDescriptorSetSchema, Buffer.from(descriptorSetBase64, 'base64'));
  const registry = createFileRegistry(set);
  const fileBySymbol = indexSymbols(registry);
  const known = new Map<DescFile, Uint8Array[]>();
  const serialized = (file: DescFile | undefined): Uint8Array[] | undefined => {
    if (file && !known.has(file)) known.set(file, serialize(file));
    return file && known.get(file);
  };
  return {
    services: [...registry].filter((type) => type.kind === 'service').map((type) => type.typeName),
    hasMessage: (typeName) => registry.getMessage(typeName) !== undefined,
    filesOfSymbol: (symbol) => serialized(fileBySymbol.get(symbol)),
    filesOfFile: (name) => serialized(registry.getFile(name)),
  };
}

/** Types and services by their full names; methods, fields and enum values under the name that encloses them. */
function indexSymbols(registry: FileRegistry): ReadonlyMap<string, DescFile> {
  const fileBySymbol = new Map<string, DescFile>();
  for (const file of registry.files) {
    for (const type of [...nestedTypes(file), ...file.services]) {
      fileBySymbol.set(type.typeName, file);
      for (const member of membersOf(type)) fileBySymbol.set(member, file);
    }
  }
  return fileBySymbol;
}

function membersOf(type: ReturnType<typeof nestedTypes> extends Iterable<infer T> ? T : never): string[] {
  switch (type.kind) {
    case 'message':
      return [...type.fields, ...type.oneofs].map(({ name }) => `${type.typeName}.${name}`);
    case 'service':
      return type.methods.map(({ name }) => `${type.typeName}.${name}`);
    case 'enum': // its values are its siblings, as in C++
      return type.values.map(({ name }) => type.typeName.replace(/[^.]*$/, name));
    case 'extension':
      return [];
  }
}

function serialize(file: DescFile): Uint8Array[] {
  const files = new Set<DescFile>([file]);
  for (const known of files) for (const imported of known.dependencies) files.add(imported); // a Set visits what is added meanwhile
  return [...files].map(({ proto }) => toBinary(FileDescriptorProtoSchema, proto));
}
