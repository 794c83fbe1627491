/** The part of google.protobuf.FileDescriptorSet, in its JSON form, on which the wire format depends. */
export interface FileDescriptorSet {
  readonly file: readonly FileDescriptor[];
}

interface FileDescriptor {
  readonly package?: string;
  readonly messageType?: readonly MessageDescriptor[];
  readonly enumType?: readonly EnumDescriptor[];
  readonly service?: readonly ServiceDescriptor[];
}

interface MessageDescriptor {
  readonly name: string;
  readonly field?: readonly FieldDescriptor[];
  readonly nestedType?: readonly MessageDescriptor[];
  readonly enumType?: readonly EnumDescriptor[];
  readonly options?: { readonly mapEntry?: boolean };
}

interface FieldDescriptor {
  readonly name: string;
  readonly number: number;
  readonly label: string;
  readonly type: string;
  readonly typeName?: string;
  readonly jsonName: string;
  readonly oneofIndex?: number;
  readonly proto3Optional?: boolean;
}

interface EnumDescriptor {
  readonly name: string;
  readonly value: readonly { readonly name: string; readonly number?: number }[];
}

interface ServiceDescriptor {
  readonly name: string;
  readonly method: readonly {
    readonly name: string;
    readonly inputType: string;
    readonly outputType: string;
    readonly clientStreaming?: boolean;
    readonly serverStreaming?: boolean;
  }[];
}

/** Returns a sorted line for each message, field, enum value and method, as listFieldTable does. */
export function listDescriptor(set: FileDescriptorSet): readonly string[] {
  return set.file.flatMap((file) => listFile(file, file.package ?? '')).sort();
}

function listFile(file: FileDescriptor, scope: string): string[] {
  return [
    ...(file.messageType ?? []).flatMap((message) => listMessage(message, scope)),
    ...(file.enumType ?? []).flatMap((each) => listEnum(each, scope)),
    ...(file.service ?? []).flatMap((service) => listService(service, scope)),
  ];
}

function listMessage(message: MessageDescriptor, scope: string): string[] {
  const name = `${scope}.${message.name}`;
  const nested = message.nestedType ?? [];
  const mapEntries = new Map(nested.filter(isMapEntry).map((entry) => [`.${name}.${entry.name}`, entry]));
  return [
    `message ${name}`,
    ...(message.field ?? []).map(
      (field) =>
        `field ${name}.${field.name} ${field.number} ${describeField(field, mapEntries.get(field.typeName ?? ''))} json ${field.jsonName}`,
    ),
    ...nested.filter((each) => !isMapEntry(each)).flatMap((each) => listMessage(each, name)),
    ...(message.enumType ?? []).flatMap((each) => listEnum(each, name)),
  ];
}

function describeField(field: FieldDescriptor, mapEntry: MessageDescriptor | undefined): string {
  const [key, value] = mapEntry?.field ?? [];
  if (key && value) return `map<${describeType(key)}, ${describeType(value)}>`;
  const label = field.label === 'LABEL_REPEATED' ? 'repeated' : 'singular';
  const presence = field.proto3Optional ? ' optional' : field.oneofIndex === undefined ? '' : ' in a oneof';
  return `${label} ${describeType(field)}${presence}`;
}

function describeType(field: FieldDescriptor): string {
  return field.typeName?.slice(1) ?? field.type.replace('TYPE_', '').toLowerCase();
}

function listEnum(each: EnumDescriptor, scope: string): string[] {
  return each.value.map((value) => `value ${scope}.${each.name}.${value.name} ${value.number ?? 0}`);
}

function listService(service: ServiceDescriptor, scope: string): string[] {
  return service.method.map(
    (method) =>
      `method ${scope}.${service.name}/${method.name}` +
      ` ${method.clientStreaming ? 'stream ' : ''}${method.inputType.slice(1)}` +
      ` -> ${method.serverStreaming ? 'stream ' : ''}${method.outputType.slice(1)}`,
  );
}

function isMapEntry(message: MessageDescriptor): boolean {
  return message.options?.mapEntry === true;
}
