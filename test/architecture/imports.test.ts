import { findFaults, findUnusedArrows, findUpwardArrows } from './check-imports';
import { readSources } from './read-sources';

test('the sources have no forbidden import, no cycle, no folder without README, no unused generated file and no module state', () => {
  const sources = readSources('src', 'gen');
  expect([...sources.keys()].filter((path) => path.startsWith('src/core/')).length).toBeGreaterThan(40);
  expect(findFaults(sources)).toEqual([]);
});

test('each arrow that the tables allow is used', () => {
  expect(findUnusedArrows(readSources('src'))).toEqual([]);
});

test('no arrow of the tables leads upward', () => {
  expect(findUpwardArrows()).toEqual([]);
});

/** A small project without faults, by path. */
const SOUND = {
  'src/core/README.md': '',
  'src/core/errors.ts': 'export const a = 1;',
  'src/core/model/node-model.ts': '',
  'src/core/plan/plan.ts': "import { a } from '../errors'; export const b = a;",
  'src/nri/README.md': '',
  'src/nri/index.ts': "import net from 'node:net'; import '../net/back-off'; import './protocol';",
  'src/nri/protocol.ts': "import '../../gen/nri';",
  'src/net/README.md': '',
  'src/net/back-off.ts': '',
  'src/host/README.md': '',
  'src/host/index.ts': "export * from '../core/errors';",
  'src/app/README.md': '',
  'src/app/alarms/alarms.ts': '',
  'src/app/transaction/transactor.ts':
    "import '../alarms/alarms'; import type { NodeModel, NodeView } from '../../core/model/node-model';",
  'src/app/bootstrap.ts': "import { NodeModel } from '../core/model/node-model';",
  'src/app/daemon.ts': "const load = () => import('../nri'); export type A = import('../host').A;",
  'src/main.ts': "import './app/daemon'; declare let __VERSION__: string;",
  'gen/nri.ts': "import './other'; let state = 1;",
  'gen/other.ts': '',
};

test.each`
  name                                                 | changed                                                                                                    | fault
  ${'no change'}                                       | ${{}}                                                                                                      | ${[]}
  ${'core imports an adapter'}                         | ${{ 'src/core/errors.ts': "import '../nri';" }}                                                            | ${[/core must not import nri/]}
  ${'core imports a type of an adapter'}               | ${{ 'src/core/errors.ts': "import type { A } from '../host';" }}                                           | ${[/core must not import host/, /^cycle/]}
  ${'core imports a builtin of Node'}                  | ${{ 'src/core/errors.ts': "import { join } from 'node:path';" }}                                           | ${[/core imports node:path/]}
  ${'core imports a builtin by its old name'}          | ${{ 'src/core/errors.ts': "import { join } from 'path';" }}                                                | ${[/core imports path/]}
  ${'core imports a package'}                          | ${{ 'src/core/errors.ts': "import type { Logger } from 'pino';" }}                                         | ${[/core imports pino/]}
  ${'core imports generated code'}                     | ${{ 'src/core/errors.ts': "import '../../gen/nri';" }}                                                     | ${[/core must not import gen/]}
  ${'core uses require'}                               | ${{ 'src/core/errors.ts': "const fs = require('fs');" }}                                                   | ${[/core imports fs/]}
  ${'core imports dynamically'}                        | ${{ 'src/core/errors.ts': "export const f = () => import('../host');" }}                                   | ${[/core must not import host/, /^cycle/]}
  ${'core names a type by import()'}                   | ${{ 'src/core/errors.ts': "export type A = import('../host').A;" }}                                        | ${[/core must not import host/, /^cycle/]}
  ${'core re-exports an adapter'}                      | ${{ 'src/core/errors.ts': "export { x } from '../host';" }}                                                | ${[/core must not import host/, /^cycle/]}
  ${'an adapter imports another'}                      | ${{ 'src/nri/index.ts': "import '../host';" }}                                                             | ${[/nri must not import host/]}
  ${'nri imports core'}                                | ${{ 'src/nri/index.ts': "import '../core/errors';" }}                                                      | ${[/nri must not import core/]}
  ${'a folder is imported past its index'}             | ${{ 'src/app/alarms/alarms.ts': "import '../../host/sysfs/cpus';", 'src/host/sysfs/cpus.ts': '' }}         | ${[/alarms.ts: .* bypasses src\/host\/index.ts/]}
  ${'nri imports core through net'}                    | ${{ 'src/net/back-off.ts': "import '../core/errors';" }}                                                   | ${[/back-off.ts: nri or wire reaches core/]}
  ${'an adapter imports app'}                          | ${{ 'src/host/index.ts': "import '../app/daemon';" }}                                                      | ${[/host must not import app/, /^cycle/]}
  ${'app imports generated code'}                      | ${{ 'src/app/daemon.ts': "import '../../gen/nri';" }}                                                      | ${[/app must not import gen/]}
  ${'app imports main'}                                | ${{ 'src/app/daemon.ts': "import '../main';" }}                                                            | ${[/app must not import main/, /^cycle/]}
  ${'something imports test code'}                     | ${{ 'src/app/daemon.ts': "import '../../test/support';" }}                                                 | ${[/app must not import test/]}
  ${'two files of one folder import each other'}       | ${{ 'src/core/errors.ts': "import type { b } from './plan/plan';" }}                                       | ${[/^cycle: src\/core\/errors.ts -> src\/core\/plan\/plan.ts -> src\/core\/errors.ts$/, /errors must not import core\/plan/]}
  ${'a cycle of three files'}                          | ${{ 'src/core/errors.ts': "import './x';", 'src/core/x.ts': "import './plan/plan';" }}                     | ${[/^cycle/, /x must not import core\/plan/]}
  ${'a room of app imports upward'}                    | ${{ 'src/app/alarms/alarms.ts': "import '../transaction/transactor';" }}                                   | ${[/app\/alarms must not import app\/transaction/, /^cycle/]}
  ${'a room other than transaction imports NodeModel'} | ${{ 'src/app/alarms/alarms.ts': "import type { NodeModel } from '../../core/model/node-model';" }}         | ${[/only app\/transaction and app\/bootstrap may import NodeModel/]}
  ${'NodeModel is imported under another name'}        | ${{ 'src/app/alarms/alarms.ts': "import type { NodeModel as View } from '../../core/model/node-model';" }} | ${[/may import NodeModel/]}
  ${'the whole module of NodeModel is imported'}       | ${{ 'src/app/alarms/alarms.ts': "import * as model from '../../core/model/node-model';" }}                 | ${[/may import NodeModel/]}
  ${'a room imports NodeView'}                         | ${{ 'src/app/alarms/alarms.ts': "import type { NodeView } from '../../core/model/node-model';" }}          | ${[]}
  ${'app has an unknown folder'}                       | ${{ 'src/app/util/x.ts': "import '../alarms/alarms';" }}                                                   | ${[/src\/app\/util: no room of app/, /app\/util must not import app\/alarms/]}
  ${'src has an unknown folder'}                       | ${{ 'src/util/README.md': '', 'src/util/x.ts': "import '../core/errors';" }}                               | ${[/util is no layer/]}
  ${'a generated file is imported by no source'}       | ${{ 'gen/other.ts': "import './more';", 'gen/more.ts': '', 'gen/nri.ts': '' }}                             | ${[/gen\/more.ts: no file of src/, /gen\/other.ts: no file of src/]}
  ${'a generated file is imported by another'}         | ${{ 'gen/other.ts': "import './more';", 'gen/more.ts': '' }}                                               | ${[]}
  ${'a folder has no README'}                          | ${{ 'src/state/file.ts': '' }}                                                                             | ${[/src\/state: no README.md/]}
  ${'a room of three files has no README'}             | ${{ 'src/core/plan/x.ts': '', 'src/core/plan/y.ts': '' }}                                                  | ${[/src\/core\/plan: no README.md, and no README.md above has its path/]}
  ${'a room of three files is described above'}        | ${{ 'src/core/README.md': '`plan/` plans', 'src/core/plan/x.ts': '', 'src/core/plan/y.ts': '' }}           | ${[]}
  ${'a file beside the rooms imports one'}             | ${{ 'src/core/errors.ts': "import './model/node-model';" }}                                                | ${[/core\/errors must not import core\/model/]}
  ${'a room imports what puts the rooms together'}     | ${{ 'src/app/alarms/alarms.ts': "import '../daemon';" }}                                                   | ${[/app\/alarms must not import app\/daemon, which puts/]}
  ${'a module has a let'}                              | ${{ 'src/host/index.ts': 'export let count = 0;' }}                                                        | ${[/module-level state \(export let count/]}
  ${'a module has a var'}                              | ${{ 'src/host/index.ts': 'var count = 0;' }}                                                               | ${[/module-level state/]}
  ${'a function has a let'}                            | ${{ 'src/host/index.ts': 'export function f() { let count = 0; return ++count; }' }}                       | ${[]}
  ${'an import is in a comment and in a string'}       | ${{ 'src/core/errors.ts': "// import '../nri'\nexport const t = \"import '../nri'\";" }}                   | ${[]}
`('findFaults, given that $name', ({ changed, fault }: { changed: Record<string, string>; fault: RegExp[] }) => {
  const faults = findFaults(new Map(Object.entries({ ...SOUND, ...changed })));
  expect(faults).toHaveLength(fault.length);
  for (const pattern of fault) expect(faults).toContainEqual(expect.stringMatching(pattern));
});
