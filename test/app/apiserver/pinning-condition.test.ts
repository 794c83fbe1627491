import { pinningState } from '../../../src/app/apiserver/pinning-condition';
import type { AlarmKind } from '../../../src/admin/model/alarm';
import type { Cgroups } from '../../../src/host';
import { NodeDriver } from '../../core/transition/node-driver';
import { contextOf } from '../../support/daemon-context';

function stateOf(mode: 'nri' | 'cri-proxy', { serving = [] as string[], alarms = [] as AlarmKind[] }) {
  const context = contextOf({ model: new NodeDriver().model, cgroups: {} as Cgroups, config: { mode } });
  for (const service of serving) context.health.set(service as 'nri', 'SERVING');
  for (const kind of alarms) context.alarms.raise(kind, '', `because of ${kind}`);
  return pinningState(context);
}

test.each`
  given                                                       | mode           | serving    | alarms                                            | want
  ${'NRI mode with a runtime'}                                | ${'nri'}       | ${['nri']} | ${[]}                                             | ${'Pinning'}
  ${'NRI mode with CRI alone'}                                | ${'nri'}       | ${['cri']} | ${[]}                                             | ${'RuntimeNotConnected'}
  ${'proxy mode with a runtime'}                              | ${'cri-proxy'} | ${['cri']} | ${[]}                                             | ${'Pinning'}
  ${'proxy mode with NRI alone'}                              | ${'cri-proxy'} | ${['nri']} | ${[]}                                             | ${'RuntimeNotConnected'}
  ${'an alarm about the disk'}                                | ${'nri'}       | ${['nri']} | ${['state-not-saved']}                            | ${'Alarm'}
  ${'alarms that do not affect pinning'}                      | ${'nri'}       | ${['nri']} | ${['api-server', 'not-listening', 'not-watched']} | ${'Pinning'}
  ${'a changed config file with a fault'}                     | ${'nri'}       | ${['nri']} | ${['config-refused']}                             | ${'Pinning'}
  ${'a reservation of the kubelet that differs'}              | ${'nri'}       | ${['nri']} | ${['kubelet-reservation']}                        | ${'Pinning'}
  ${'CPUs that the cgroups lack and that are not given out'}  | ${'nri'}       | ${['nri']} | ${['cpus-barred']}                                | ${'Pinning'}
  ${'groups that were never in force'}                        | ${'nri'}       | ${['nri']} | ${['node-labels']}                                | ${'Alarm'}
  ${'an alarm that affects pinning beside one that does not'} | ${'nri'}       | ${['nri']} | ${['api-server', 'repairs-stopped']}              | ${'Alarm'}
`(
  'given $given the condition is $want',
  ({
    mode,
    serving,
    alarms,
    want,
  }: {
    mode: 'nri' | 'cri-proxy';
    serving: string[];
    alarms: AlarmKind[];
    want: string;
  }) => {
    const state = stateOf(mode, { serving, alarms });
    expect(state.reason).toBe(want);
    expect(state.ready).toBe(want === 'Pinning');
  },
);

test('the message quotes only alarms that affect pinning', () => {
  expect(stateOf('nri', { serving: ['nri'], alarms: ['api-server', 'repairs-stopped'] }).message).toBe(
    'because of repairs-stopped',
  );
});
