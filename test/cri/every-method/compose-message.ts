import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import type { CriTable, TableField } from './cri-table';

/** Values that one session shares; every other text is the name of its field. */
const TEXTS: Readonly<Record<string, string>> = {
  id: 'c-1',
  container_id: 'c-1',
  pod_sandbox_id: 's-1',
  cgroup_parent: '/kubepods/burstable/podU',
  cpuset_cpus: '0-63',
  cpuset_mems: '0',
};
/** No enum has it: a value of a later release. */
const UNKNOWN_ENUM_VALUE = 4242;
const MAX_DEPTH = 8;

/**
 * The bytes of a message with every published field set, and at every level with fields of each wire type that no
 * release has. Encoded from the table alone, so that it does not depend on the code under test.
 */
export function composeMessage(table: CriTable, name: string, depth = 0): Uint8Array {
  const writer = new BinaryWriter();
  const fields = table.messages.get(name);
  if (fields === undefined) throw new Error(`no message ${name} in the table`);
  for (const field of fields) writeField(writer, table, field, depth);
  writer.tag(3000, WireType.Varint).uint64(2n ** 63n + 1n);
  writer.tag(3001, WireType.LengthDelimited).bytes(Uint8Array.of(0, 0xff, depth));
  writer.tag(3002, WireType.Bit32).fixed32(0xfeedface);
  writer.tag(3003, WireType.Bit64).double(0.1);
  return writer.finish();
}

function writeField(writer: BinaryWriter, table: CriTable, field: TableField, depth: number): void {
  const times = field.label === 'repeated' ? 2 : 1;
  if (field.label === 'map') {
    const entry = new BinaryWriter();
    writeValue(entry, table, { ...field, number: 1, type: field.key_type ?? 'string', label: 'singular' }, depth);
    const value = { ...field, number: 2, type: field.value_type ?? 'string', label: 'singular' } as const;
    const named = field.value_type_name === undefined ? value : { ...value, type_name: field.value_type_name };
    writeValue(entry, table, named, depth);
    writer.tag(field.number, WireType.LengthDelimited).bytes(entry.finish());
  } else for (let n = 0; n < times; n++) writeValue(writer, table, field, depth);
}

function writeValue(writer: BinaryWriter, table: CriTable, field: TableField, depth: number): void {
  const { name, number, type } = field;
  switch (type) {
    case 'string':
      writer.tag(number, WireType.LengthDelimited).string(TEXTS[name] ?? name);
      return;
    case 'bytes':
      writer.tag(number, WireType.LengthDelimited).bytes(Uint8Array.of(0xff, 0xfe, 0));
      return;
    case 'message':
      if (depth < MAX_DEPTH)
        writer
          .tag(number, WireType.LengthDelimited)
          .bytes(composeMessage(table, field.type_name ?? field.value_type_name ?? '', depth + 1));
      return;
    case 'bool':
      writer.tag(number, WireType.Varint).bool(true);
      return;
    case 'enum':
      writer.tag(number, WireType.Varint).int32(name === 'state' ? 1 : UNKNOWN_ENUM_VALUE);
      return;
    case 'double':
      writer.tag(number, WireType.Bit64).double(number + 0.5);
      return;
    case 'int32':
    case 'int64':
    case 'uint32':
    case 'uint64':
      writer.tag(number, WireType.Varint).uint64(BigInt(number) * 1000n);
      return;
    default:
      throw new Error(`the table has a type that is not written here: ${type}`);
  }
}
