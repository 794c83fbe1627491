/** A table of test/fixtures/wire: the contents of a published protocol. */
export interface FieldTable {
  readonly messages: readonly { readonly name: string; readonly fields: readonly TableField[] }[];
  readonly enums: readonly {
    readonly name: string;
    readonly values: readonly { readonly name: string; readonly number: number }[];
  }[];
  readonly services: readonly {
    readonly methods: readonly {
      readonly path: string;
      readonly request: string;
      readonly response: string;
      readonly client_streaming: boolean;
      readonly server_streaming: boolean;
    }[];
  }[];
}

interface TableField {
  readonly name: string;
  readonly json_name: string;
  readonly number: number;
  readonly type: string;
  readonly type_name?: string;
  readonly label: 'singular' | 'repeated' | 'map';
  readonly key_type?: string;
  readonly value_type?: string;
  readonly value_type_name?: string;
  readonly oneof?: string;
  readonly proto3_optional?: boolean;
}

/** Returns a sorted line for each message, field, enum value and method, as listDescriptor does. */
export function listFieldTable(table: FieldTable): readonly string[] {
  const messages = table.messages.flatMap(({ name, fields }) => [
    `message ${name}`,
    ...fields.map(
      (field) => `field ${name}.${field.name} ${field.number} ${describeField(field)} json ${field.json_name}`,
    ),
  ]);
  const values = table.enums.flatMap(({ name, values }) =>
    values.map((value) => `value ${name}.${value.name} ${value.number}`),
  );
  const methods = table.services
    .flatMap((service) => service.methods)
    .map(
      (method) =>
        `method ${method.path.slice(1)} ${method.client_streaming ? 'stream ' : ''}${method.request}` +
        ` -> ${method.server_streaming ? 'stream ' : ''}${method.response}`,
    );
  return [...messages, ...values, ...methods].sort();
}

function describeField(field: TableField): string {
  if (field.label === 'map') return `map<${field.key_type ?? ''}, ${field.value_type_name ?? field.value_type ?? ''}>`;
  const presence = field.proto3_optional ? ' optional' : field.oneof === undefined ? '' : ' in a oneof';
  return `${field.label} ${field.type_name ?? field.type}${presence}`;
}
