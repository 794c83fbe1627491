import { AREAS } from './scenarios/areas';
import { loadScenarios } from './scenarios/scenario';

const { scenarios, machines } = loadScenarios();

describe.each(Object.entries(AREAS))('%s', (area, run) => {
  test.each(
    scenarios
      .filter((scenario) => scenario.area === area)
      .map((scenario) => [scenario.id, scenario.name, scenario] as const),
  )('%s %s', (_id, _name, scenario) => {
    run(scenario, machines);
  });
});

test('each runner has an area with scenarios', () => {
  const areas = new Set(scenarios.map(({ area }) => area));
  expect(Object.keys(AREAS).filter((area) => !areas.has(area))).toEqual([]);
});
