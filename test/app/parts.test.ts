import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Config } from '../../src/app/config';
import { PARTS } from '../../src/app/daemon';
import { OWED } from '../../src/app/owed-effects/owed';

let stateDir: string;
beforeEach(() => (stateDir = mkdtempSync(join(tmpdir(), 'parts-'))));
afterEach(() => rmSync(stateDir, { recursive: true }));

function listWanted(options: Partial<Config>): string[] {
  const config = { irqAffinity: 'off', stateDir, ...options } as Config;
  return PARTS.filter(({ isWanted }) => isWanted(config)).map(({ name }) => name);
}

test.each`
  name                          | options                                         | wanted
  ${'without an option'}        | ${{}}                                           | ${['reload']}
  ${'with an audit period'}     | ${{ auditPeriodMs: 60_000 }}                    | ${['reload', 'audit']}
  ${'with interrupts to steer'} | ${{ irqAffinity: 'steer' }}                     | ${['reload', 'irq-affinity']}
  ${'with a kubeconfig'}        | ${{ kubeconfig: { kind: 'file', path: '/k' } }} | ${['reload', 'apiserver']}
  ${'with a collect interval'}  | ${{ collectIntervalMs: 10_000 }}                | ${['reload', 'qos']}
`('$name the daemon opens $wanted', ({ options, wanted }: { options: Partial<Config>; wanted: string[] }) => {
  expect(listWanted(options)).toEqual(wanted);
});

test.each([
  ['interrupts that were moved', OWED.interrupts.file, 'irq-affinity'],
  ['throttled containers', OWED.qosActions.file, 'qos'],
  ['lent resources', OWED.lentResources.file, 'qos'],
])('what a killed process left is undone without an option: %s', (_what, file, part) => {
  writeFileSync(join(stateDir, file), '{}');
  expect(listWanted({})).toContain(part);
});

test('each room that has a part is in the list', () => {
  const app = join(__dirname, '../../src/app');
  const rooms = readdirSync(app).filter((room) => existsSync(join(app, room, 'part.ts')));
  expect(PARTS.map(({ name }) => name).sort()).toEqual(rooms.filter((room) => room !== 'lifecycle').sort());
});
