import { loadConfig } from '../../../src/app/config';
import { nameOf, type OptionKey } from '../../../src/app/config/options';
import { toSettings } from '../../../src/app/config/settings';
import { decidesPlacement } from '../../../src/cli/replay/recorded-options';
import { machineOf } from '../../core/transition/node-driver';

/** It tells containers their CPUs, and decides none. */
const TELLS_ONLY = 'cpu-identity';

test('every option that the settings of a node come from decides placements', async () => {
  const loaded = await loadConfig({ flags: { 'reserved-cpus': ['0'] }, env: {} });
  if (!loaded.ok) throw new Error(loaded.problems.join('; '));
  const read = new Set<string>();
  const config = new Proxy(loaded.config, {
    get: (options, key: OptionKey) => {
      if (Object.hasOwn(options, key)) read.add(nameOf(key));
      return options[key];
    },
  });
  toSettings(config, machineOf(4, 2));
  expect(read.size).toBeGreaterThan(10);
  expect([...read].filter((name) => !decidesPlacement(name))).toEqual([TELLS_ONLY]);
});
