import { loadScript } from '../../support/load-script';

interface Script {
  readonly describeBusy: (load: number, cpus: number) => string;
}

test.each`
  load    | cpus | want
  ${0}    | ${1} | ${''}
  ${2}    | ${2} | ${''}
  ${1.2}  | ${1} | ${'; this machine is too slow or busy: load 1.2 on 1 CPU'}
  ${14.3} | ${2} | ${'; this machine is too slow or busy: load 14.3 on 2 CPUs'}
`(
  'a load of $load on $cpus CPUs is told: "$want"',
  async ({ load, cpus, want }: { load: number; cpus: number; want: string }) => {
    const { describeBusy } = await loadScript<Script>('test-run/run-step.mjs');
    expect(describeBusy(load, cpus)).toBe(want);
  },
);
