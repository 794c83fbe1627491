import { claims } from './claims';
import type { Machine } from './machine';
import { loadScript } from '../support/load-script';

let machines: readonly Machine[];
beforeAll(async () => {
  const { readMachines } = await loadScript<{ readMachines: (folder: string) => readonly Machine[] }>(
    'machines/machine.mjs',
  );
  machines = readMachines(`${__dirname}/descriptions`);
});

const machinesOf = (name: string): readonly Machine[] =>
  machines.filter((machine) => claims.find((claim) => claim.name === name)!.when(machine));

test('each name of a claim is there once', () => {
  const names = claims.map(({ name }) => name);
  expect([...new Set(names)]).toEqual(names);
});

describe.each(claims)('$name', ({ name, dependsOn: { traits, because } }) => {
  test('at least one machine tests it', () => {
    expect(machinesOf(name)).not.toHaveLength(0);
  });

  test('its machines differ in what it depends on, and a sentence says why', () => {
    expect(traits).not.toHaveLength(0);
    expect(because).toMatch(/^[A-Z].*\.$|^(dpkg|systemd) .*\.$/);
    const kinds = machinesOf(name).map((machine) => JSON.stringify(traits.map((trait) => machine[trait])));
    expect([...new Set(kinds)]).toEqual(kinds);
  });
});

test('each machine tests a claim besides the topology', () => {
  const idle = machines.filter((machine) => claims.filter(({ when }) => when(machine)).length < 2);
  expect(idle.map(({ name }) => name)).toEqual([]);
});
