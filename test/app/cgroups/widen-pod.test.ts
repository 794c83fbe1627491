import { pino } from 'pino';
import { NodeModel } from '../../../src/core/model/node-model';
import type { Cgroups, WriteOutcome } from '../../../src/host';
import { EIGHT_CPUS, podOf, settingsWith } from '../../core/transition/node-driver';
import { containerCgroups } from '../../support/container-cgroups';

/** What is asked of the cgroups, and what the operator reads. */
function widenWhere(outcome: WriteOutcome) {
  const asked: string[] = [];
  const logged: string[] = [];
  const cgroups = {
    version: 1,
    widen: (dir, cpus) => {
      asked.push(`${dir} ${cpus.toString()}`);
      return outcome;
    },
  } as Pick<Cgroups, 'version' | 'widen'> as Cgroups;
  const log = pino({}, { write: (line) => logged.push((JSON.parse(line) as { msg: string }).msg) });
  containerCgroups(cgroups, new NodeModel(EIGHT_CPUS, settingsWith()), { log }).widenPod(podOf('p'));
  return { asked, logged };
}

const GIVEN_BACK = 'cgroups above a pod lacked CPUs that had been offline; they have them again';
const REFUSED = 'cgroups above a pod could not be given all CPUs';

test.each`
  name                                                          | outcome                                                       | logged
  ${'cgroups that lacked CPUs have them again, and it is told'} | ${{ kind: 'ok', changed: true }}                              | ${[GIVEN_BACK]}
  ${'cgroups that have all CPUs are worth no line'}             | ${{ kind: 'ok', changed: false }}                             | ${[]}
  ${'a pod that has no cgroup yet is none either'}              | ${{ kind: 'gone' }}                                           | ${[]}
  ${'a refusal of the kernel is told'}                          | ${{ kind: 'refused', errno: 'EACCES', because: 'no access' }} | ${[REFUSED]}
`('$name', ({ outcome, logged }) => {
  expect(widenWhere(outcome as WriteOutcome)).toEqual({ asked: [`${podOf('p').cgroupParent} 0-7`], logged });
});
