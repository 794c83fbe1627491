import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The part of the published table of CRI (test/fixtures/wire) that describes messages. */
export interface CriTable {
  readonly messages: ReadonlyMap<string, readonly TableField[]>;
  readonly methods: readonly TableMethod[];
}

export interface TableField {
  readonly name: string;
  readonly number: number;
  readonly type: string;
  readonly type_name?: string;
  readonly label: 'singular' | 'repeated' | 'map';
  readonly key_type?: string;
  readonly value_type?: string;
  readonly value_type_name?: string;
}

export interface TableMethod {
  readonly name: string;
  /** `/package.Service/Method` */
  readonly path: string;
  readonly request: string;
  readonly response: string;
  readonly server_streaming: boolean;
}

export function readCriTable(): CriTable {
  const text = readFileSync(join(__dirname, '../../fixtures/wire/cri-v1.json'), 'utf8');
  const table = JSON.parse(text) as {
    readonly messages: readonly { readonly name: string; readonly fields: readonly TableField[] }[];
    readonly services: readonly { readonly methods: readonly TableMethod[] }[];
  };
  return {
    messages: new Map(table.messages.map(({ name, fields }) => [name, fields])),
    methods: table.services.flatMap(({ methods }) => methods),
  };
}
