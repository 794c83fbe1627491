import { waitUntil } from '../../support/wait-until';
import { Rig } from './rig';

let rig: Rig;
beforeEach(async () => {
  rig = await Rig.start();
});
afterEach(() => rig.close());

test('given nodes without annotations: each gets its figures and its hot value in one patch', async () => {
  rig.addNode('n1', '10.0.0.1');
  rig.addNode('n2', '10.0.0.2');
  rig.prometheus.series.set('cpu_usage_avg_5m', [
    { instance: '10.0.0.1:9100', value: 31.25 },
    { instance: '10.0.0.2:9100', value: 50 },
  ]);
  rig.prometheus.series.set('mem_usage_avg_5m', [
    { instance: '10.0.0.1:9100', value: 10 },
    { instance: 'n2', value: 20 },
  ]);
  for (let pod = 0; pod < 5; pod++) rig.addEvent(`p${pod}`, 'n1');
  rig.run();
  await waitUntil('both nodes are written', () => rig.patches.length === 2);
  const stamp = expect.stringMatching(/^\d\.\d{5},\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
  expect(rig.annotations('n1')).toEqual({
    cpu_usage_avg_5m: stamp,
    mem_usage_avg_5m: stamp,
    node_hot_value: expect.stringMatching(/^3,/),
  });
  expect(rig.annotations('n1')['cpu_usage_avg_5m']).toMatch(/^0\.31250,/);
  expect(rig.annotations('n2')['mem_usage_avg_5m']).toMatch(/^0\.20000,/);
  expect(rig.prometheus.queries).toHaveLength(2);
  expect(rig.prometheus.queries[0]).toMatchObject({
    method: 'POST',
    path: '/api/v1/query',
    query: 'cpu_usage_avg_5m /100',
  });
});
