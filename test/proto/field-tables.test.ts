import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { listDescriptor, type FileDescriptorSet } from './list-descriptor';
import { listFieldTable, type FieldTable } from './list-field-table';

const root = join(__dirname, '../..');

/** Everything proto/ declares, as the compiler that generates gen/ understands it. */
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
  protocol            | scope
  ${'nri-v1alpha1'}   | ${/ nri\.pkg\.api\.v1alpha1\./}
  ${'cri-v1'}         | ${/ runtime\.v1\./}
  ${'ttrpc'}          | ${/ (ttrpc|google\.rpc|google\.protobuf\.Any)\b/}
  ${'grpc-health-v1'} | ${/ grpc\.health\.v1\./}
`('proto/ says what the table of $protocol says, no more and no less', ({ protocol, scope }: Row) => {
  const table = JSON.parse(readFileSync(join(root, `test/fixtures/wire/${protocol}.json`), 'utf8')) as FieldTable;
  const ours = declared.filter((line) => scope.test(line.split(' ', 2).join(' ')));
  expect(ours).toEqual(listFieldTable(table));
  expect(ours.length).toBeGreaterThan(5);
});

interface Row {
  readonly protocol: string;
  readonly scope: RegExp;
}

test('the view reads what the table of NRI has under the same numbers, with the same types', () => {
  const table = JSON.parse(readFileSync(join(root, 'test/fixtures/wire/nri-v1alpha1.json'), 'utf8')) as FieldTable;
  const published = new Set(listFieldTable(table));
  const view = declared.filter((line) => line.startsWith('field cpusetd.nri.view.'));
  // Requests of several methods are read through one message.
  const asPublished = view.map((line) =>
    line
      .replace('view.EventRequest.', 'view.UpdateContainerRequest.')
      .replaceAll('cpusetd.nri.view.', 'nri.pkg.api.v1alpha1.'),
  );
  expect(asPublished.filter((line) => !published.has(line))).toEqual([]);
  expect(view.length).toBeGreaterThan(30);
});
