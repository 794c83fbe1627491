import { readRuntimeSpec } from '../../../src/cri/client/oci-spec';

const infoOf = (runtimeSpec: unknown) => ({ info: JSON.stringify({ pid: 7, runtimeSpec }) });

test('reads cgroup, CPU and memory numbers from a verbose status', () => {
  const spec = {
    process: { oomScoreAdj: -997 },
    linux: {
      cgroupsPath: '/kubepods/podu/c',
      resources: {
        cpu: { shares: 2048, quota: 200000, period: 100000, cpus: '2-3', mems: '0' },
        memory: { limit: 1 },
        hugepageLimits: [{ pageSize: '2MB', limit: 4194304 }, { pageSize: '1GB', limit: 0 }, 7],
      },
    },
  };
  expect(readRuntimeSpec(infoOf(spec))).toEqual({
    cgroupsPath: '/kubepods/podu/c',
    pid: 7,
    resources: {
      shares: 2048,
      quotaUs: 200000,
      periodUs: 100000,
      memoryLimitBytes: 1,
      hugePages: { 'hugepages-2Mi': 4194304 },
      cpus: '2-3',
      mems: '0',
    },
    oomScoreAdj: -997,
  });
});

describe('huge pages, which containerd leaves out of the spec by default', () => {
  const pages = (bytes: number) => ({ hugepage_limits: [{ page_size: '2MB', limit: bytes }, { page_size: '1GB' }, 7] });
  const infoWith = (config: unknown, ofSpec: unknown) => ({
    info: JSON.stringify({ config, runtimeSpec: { linux: { resources: ofSpec } } }),
  });

  test.each`
    name                                     | config                                      | ofSpec                                                       | want
    ${'are read from the request'}           | ${{ linux: { resources: pages(4194304) } }} | ${{}}                                                        | ${{ 'hugepages-2Mi': 4194304 }}
    ${'are those of the spec if it has any'} | ${{ linux: { resources: pages(4194304) } }} | ${{ hugepageLimits: [{ pageSize: '2MB', limit: 2097152 }] }} | ${{ 'hugepages-2Mi': 2097152 }}
    ${'are none where the request has 0'}    | ${{ linux: { resources: pages(0) } }}       | ${{}}                                                        | ${undefined}
    ${'are none without a request'}          | ${undefined}                                | ${{}}                                                        | ${undefined}
    ${'are none in a request that is text'}  | ${'linux'}                                  | ${{}}                                                        | ${undefined}
  `('$name', ({ config, ofSpec, want }) => {
    expect(readRuntimeSpec(infoWith(config, ofSpec))!.resources.hugePages).toEqual(want);
  });
});

test.each`
  name                                     | info                                                                      | want
  ${'an empty answer'}                     | ${{}}                                                                     | ${undefined}
  ${'a text that is not JSON'}             | ${{ info: '{' }}                                                          | ${undefined}
  ${'an empty text'}                       | ${{ info: '' }}                                                           | ${undefined}
  ${'JSON that is no object'}              | ${{ info: '7' }}                                                          | ${undefined}
  ${'null'}                                | ${{ info: 'null' }}                                                       | ${undefined}
  ${'no spec'}                             | ${{ info: '{"pid":1}' }}                                                  | ${undefined}
  ${'a spec for another system'}           | ${infoOf({ windows: {} })}                                                | ${undefined}
  ${'a spec that is a text'}               | ${infoOf('linux')}                                                        | ${undefined}
  ${'a spec without resources'}            | ${infoOf({ linux: { cgroupsPath: '/a' } })}                               | ${{ cgroupsPath: '/a', pid: 7, resources: {} }}
  ${'an empty CPU set, which means none'}  | ${infoOf({ linux: { resources: { cpu: { cpus: '' } } } })}                | ${{ cgroupsPath: '', pid: 7, resources: {} }}
  ${'numbers that are texts or fractions'} | ${infoOf({ linux: { resources: { cpu: { shares: '2', quota: 1.5 } } } })} | ${{ cgroupsPath: '', pid: 7, resources: {} }}
  ${'no process, as after the end'}        | ${{ info: '{"pid":0,"runtimeSpec":{"linux":{}}}' }}                       | ${{ cgroupsPath: '', resources: {} }}
  ${'a cgroup path that is a number'}      | ${infoOf({ linux: { cgroupsPath: 7 } })}                                  | ${{ cgroupsPath: '', pid: 7, resources: {} }}
`('given $name, the readable fields are used', ({ info, want }) => {
  expect(readRuntimeSpec(info)).toEqual(want);
});
