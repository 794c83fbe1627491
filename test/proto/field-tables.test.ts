import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { listDescriptor, type FileDescriptorSet } from './list-descriptor';
import { listFieldTable, type FieldTable } from './list-field-table';

const root = join(__dirname, '../..');

/** All declarations in proto/, from the compiler that also generates gen/. */
const declared = listDescriptor(
  JSON.parse(
    execFileSync(
      join(root, 'node_modules/.bin/buf'),
      ['build', 'proto', '--as-file-descriptor-set', '-o', '-#format=json'],
      {
        cwd: root,
        encoding: 'utf8',
        maxBuffer: 1 << 26,
      },
    ),
  ) as FileDescriptorSet,
);

test.each`
  protocol             | scope
  ${'nri-v1alpha1'}    | ${/ nri\.pkg\.api\.v1alpha1\./}
  ${'cri-v1'}          | ${/ runtime\.v1\./}
  ${'ttrpc'}           | ${/ (ttrpc|google\.rpc|google\.protobuf\.Any)\b/}
  ${'grpc-health-v1'}  | ${/ grpc\.health\.v1\./}
  ${'podresources-v1'} | ${/ v1\./}
`('the declarations in proto/ equal the table of $protocol', ({ protocol, scope }: Row) => {
  const table = JSON.parse(readFileSync(join(root, `test/fixtures/wire/${protocol}.json`), 'utf8')) as FieldTable;
  const ours = declared.filter((line) => scope.test(line.split(' ', 2).join(' ')));
  expect(ours).toEqual(listFieldTable(table));
  expect(ours.length).toBeGreaterThan(5);
});

interface Row {
  readonly protocol: string;
  readonly scope: RegExp;
}

test.each`
  protocol          | view                  | published                 | atLeast
  ${'nri-v1alpha1'} | ${'cpusetd.nri.view'} | ${'nri.pkg.api.v1alpha1'} | ${30}
  ${'cri-v1'}       | ${'cpusetd.cri.view'} | ${'runtime.v1'}           | ${40}
`('the fields of the view are in the table of $protocol, with the same numbers and types', (row: ViewRow) => {
  const table = JSON.parse(readFileSync(join(root, `test/fixtures/wire/${row.protocol}.json`), 'utf8')) as FieldTable;
  const published = new Set(listFieldTable(table));
  const view = declared.filter((line) => /^(field|value|method) /.test(line) && line.includes(` ${row.view}.`));
  const asPublished = view.map((line) =>
    line
      // One message reads the requests of several NRI methods.
      .replace('nri.view.EventRequest.', 'nri.view.UpdateContainerRequest.')
      .replaceAll(`${row.view}.`, `${row.published}.`)
      // A map is a list of entries on the wire. The view reads only the entries that are needed
      // (src/wire/map-entry.ts).
      .replace(/(\.PodSandbox\.annotations 6) repeated bytes/, '$1 map<string, string>'),
  );
  expect(asPublished.filter((line) => !published.has(line))).toEqual([]);
  expect(view.length).toBeGreaterThan(row.atLeast);
});

interface ViewRow {
  readonly protocol: string;
  readonly view: string;
  readonly published: string;
  readonly atLeast: number;
}
