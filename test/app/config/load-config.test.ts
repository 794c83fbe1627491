import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import {
  envNameOf,
  loadConfig,
  nameOf,
  OPTION_KEYS,
  OPTIONS,
  type Config,
  type OptionKey,
} from '../../../src/app/config';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'cfg-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function writeConfigFile(text: string, name = 'cpusetd.yaml'): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

interface Given {
  readonly flags?: Record<string, string[]>;
  readonly env?: Record<string, string>;
  readonly file?: string;
}

async function load({ flags = {}, env = {}, file }: Given) {
  return loadConfig({ flags: { ...flags, ...(file !== undefined && { config: [writeConfigFile(file)] }) }, env });
}

/** Loads settings that must be valid; a reservation is added. */
async function loadRight(given: Given): Promise<Config> {
  const loaded = await load({ ...given, env: { CPUSETD_RESERVED_CPUS: '0', ...given.env } });
  if (!loaded.ok) throw new Error(loaded.problems.join('\n'));
  return loaded.config;
}

async function loadWrong(given: Given): Promise<readonly string[]> {
  const loaded = await load(given);
  return loaded.ok ? [] : loaded.problems.map((problem) => problem.replaceAll(folder, ''));
}

/** Adds a reservation where the row has none, so that nothing else is wrong. */
function reserved(given: Given): Given {
  return { ...given, env: { CPUSETD_RESERVED_CPUS: '0', ...given.env } };
}

describe('the table of options', () => {
  test.each(OPTION_KEYS)('the default of %s is valid', (key) => {
    const { type, default: text } = OPTIONS[key];
    if (text !== undefined) expect(type.parse(text)).toMatchObject({ ok: true });
    else expect(['reservedCpus', 'reservedCpuCount', 'nodeName', 'nodeLabels']).toContain(key);
  });

  test('flag and variable names follow from keys, and are unique', () => {
    expect(nameOf('cpuManagerPolicyOptions')).toBe('cpu-manager-policy-options');
    expect(nameOf('reconcilePeriodMs')).toBe('reconcile-period');
    expect(envNameOf('reconcilePeriodMs')).toBe('CPUSETD_RECONCILE_PERIOD');
    const names = OPTION_KEYS.map(nameOf);
    expect(new Set(names).size).toBe(names.length);
  });

  test('with only a reservation set, the documented defaults are in force', async () => {
    expect(await loadRight({})).toMatchObject({
      mode: 'nri',
      cpuManagerPolicy: 'static',
      reservedCpuCount: undefined,
      reconcilePeriodMs: 10_000,
      onInsufficientCpu: 'refuse',
      stateDir: '/var/lib/cpusetd',
      nriSocket: '/var/run/nri/nri.sock',
      nriPluginIndex: '50',
      criEndpoint: '/run/containerd/containerd.sock',
      adminSocket: '/run/cpusetd/cpusetd.sock',
      healthAddress: undefined,
      metricsAddress: undefined,
      cgroupWrites: true,
      liftCpuQuota: true,
      minSharedCpus: 1,
      topologyManagerPolicy: 'none',
    });
  });
});

describe('precedence', () => {
  test.each`
    where                                    | given                                                                                                  | want
    ${'the default when nothing is set'}     | ${{}}                                                                                                  | ${'info'}
    ${'the file'}                            | ${{ file: 'log-level: warn' }}                                                                         | ${'warn'}
    ${'the environment over the file'}       | ${{ file: 'log-level: warn', env: { CPUSETD_LOG_LEVEL: 'error' } }}                                    | ${'error'}
    ${'the flag over both'}                  | ${{ file: 'log-level: warn', env: { CPUSETD_LOG_LEVEL: 'error' }, flags: { 'log-level': ['debug'] } }} | ${'debug'}
    ${'the file when the variable is empty'} | ${{ file: 'log-level: warn', env: { CPUSETD_LOG_LEVEL: '' } }}                                         | ${'warn'}
  `('the value in force is $where', async ({ given, want }: { given: Given; want: string }) => {
    expect((await loadRight(given)).logLevel).toBe(want);
  });

  test('CPUSETD_CONFIG names the file, and --config overrides it', async () => {
    const weaker = writeConfigFile('log-level: warn', 'weaker.yaml');
    expect((await loadRight({ env: { CPUSETD_CONFIG: weaker } })).logLevel).toBe('warn');
    expect((await loadRight({ env: { CPUSETD_CONFIG: weaker }, file: 'log-level: error' })).logLevel).toBe('error');
  });
});

describe('valid values', () => {
  test.each`
    name                            | text                                | key                          | want
    ${'reserved-cpu-count'}         | ${'500m'}                           | ${'reservedCpuCount'}        | ${1}
    ${'reserved-cpu-count'}         | ${'1500m'}                          | ${'reservedCpuCount'}        | ${2}
    ${'reserved-cpu-count'}         | ${'1.001'}                          | ${'reservedCpuCount'}        | ${2}
    ${'reserved-cpu-count'}         | ${'2'}                              | ${'reservedCpuCount'}        | ${2}
    ${'reconcile-period'}           | ${'1m30s'}                          | ${'reconcilePeriodMs'}       | ${90_000}
    ${'reconcile-period'}           | ${'1.5s'}                           | ${'reconcilePeriodMs'}       | ${1_500}
    ${'reconcile-period'}           | ${'250ms'}                          | ${'reconcilePeriodMs'}       | ${250}
    ${'nri-plugin-index'}           | ${'05'}                             | ${'nriPluginIndex'}          | ${'05'}
    ${'cri-endpoint'}               | ${'unix:///var/run/crio/crio.sock'} | ${'criEndpoint'}             | ${'/var/run/crio/crio.sock'}
    ${'cri-endpoint'}               | ${'off'}                            | ${'criEndpoint'}             | ${undefined}
    ${'health-address'}             | ${'127.0.0.1:9100'}                 | ${'healthAddress'}           | ${{ host: '127.0.0.1', port: 9100 }}
    ${'health-address'}             | ${'[::1]:9100'}                     | ${'healthAddress'}           | ${{ host: '::1', port: 9100 }}
    ${'state-dir'}                  | ${'/var/lib/x/'}                    | ${'stateDir'}                | ${'/var/lib/x'}
    ${'cgroup-writes'}              | ${'off'}                            | ${'cgroupWrites'}            | ${false}
    ${'collect-interval'}           | ${'10s'}                            | ${'collectIntervalMs'}       | ${10_000}
    ${'ifaces'}                     | ${'eth0, bond0'}                    | ${'ifaces'}                  | ${['eth0', 'bond0']}
    ${'execute-excess'}             | ${'25%'}                            | ${'executeExcess'}           | ${25}
    ${'node-resource-reserved'}     | ${'memory=40%'}                     | ${'nodeResourceReserved'}    | ${{ cpuPercent: 0, memoryPercent: 40 }}
    ${'node-resource-reserved'}     | ${'cpu=10%, memory=40%'}            | ${'nodeResourceReserved'}    | ${{ cpuPercent: 10, memoryPercent: 40 }}
    ${'cpu-manager-policy-options'} | ${'a=true, b=0'}                    | ${'cpuManagerPolicyOptions'} | ${new Map([['a', 'true'], ['b', '0']])}
  `('--$name $text gives $want', async ({ name, text, key, want }) => {
    const env = name === 'reserved-cpu-count' ? { CPUSETD_RESERVED_CPUS: '' } : {};
    expect((await loadRight({ flags: { [name]: [text] }, env }))[key as OptionKey]).toEqual(want);
  });

  test('--reserved-cpus takes a list of CPUs', async () => {
    const { reservedCpus } = await loadRight({ flags: { 'reserved-cpus': ['0-1,8'] } });
    expect(reservedCpus?.toArray()).toEqual([0, 1, 8]);
  });

  test.each`
    form                         | file                                                                    | key                          | want
    ${'a text without quotes'}   | ${'nri-plugin-index: 05'}                                               | ${'nriPluginIndex'}          | ${'05'}
    ${'a text in quotes'}        | ${'nri-plugin-index: "07"'}                                             | ${'nriPluginIndex'}          | ${'07'}
    ${'off as a switch'}         | ${'cgroup-writes: off'}                                                 | ${'cgroupWrites'}            | ${false}
    ${'a number'}                | ${'min-shared-cpus: 2'}                                                 | ${'minSharedCpus'}           | ${2}
    ${'a mapping of options'}    | ${'cpu-manager-policy-options:\n  full-pcpus-only: true\n  b: "false"'} | ${'cpuManagerPolicyOptions'} | ${new Map([['full-pcpus-only', 'true'], ['b', 'false']])}
    ${'a list of options'}       | ${'cpu-manager-policy-options: [a=1, b=0]'}                             | ${'cpuManagerPolicyOptions'} | ${new Map([['a', '1'], ['b', '0']])}
    ${'JSON'}                    | ${'{"log-level": "warn", "min-shared-cpus": 3}'}                        | ${'minSharedCpus'}           | ${3}
    ${'an anchor and its alias'} | ${'sysfs-root: &d /x\ncgroup-root: *d'}                                 | ${'cgroupRoot'}              | ${'/x'}
    ${'comments only'}           | ${'# nothing\n'}                                                        | ${'logLevel'}                | ${'info'}
    ${'nothing'}                 | ${''}                                                                   | ${'logLevel'}                | ${'info'}
  `('the file may hold $form', async ({ file, key, want }) => {
    expect((await loadRight({ file }))[key as OptionKey]).toEqual(want);
  });

  test('the file may hold a list of CPUs', async () => {
    const loaded = await load({ file: 'reserved-cpus: [0, 2-3]' });
    expect(loaded.ok && loaded.config.reservedCpus?.toString()).toBe('0,2-3');
  });
});

describe('a wrong value gives a problem with the input, the rule and the remedy:', () => {
  test.each`
    flag                            | text                     | message
    ${'mode'}                       | ${'proxy'}               | ${'--mode: "proxy" is not a known value; choose one of nri, cri-proxy'}
    ${'cpu-manager-policy'}         | ${'Static'}              | ${'--cpu-manager-policy: "Static" is not a known value; choose one of none, static, exclusive, numa, immovable'}
    ${'cpu-manager-policy-options'} | ${'full-pcpus-only'}     | ${'has a part that is no pair (full-pcpus-only); write name=value, separated by commas'}
    ${'cpu-manager-policy-options'} | ${'a=1,,b=1'}            | ${'has a part that is no pair ()'}
    ${'cpu-manager-policy-options'} | ${'a=1,a=0'}             | ${'sets a twice; set it once'}
    ${'cpu-manager-policy-options'} | ${'=1'}                  | ${'has a part that is no pair (=1)'}
    ${'reserved-cpus'}              | ${''}                    | ${'--reserved-cpus: "" names no CPU; write CPU ids and ranges like 0-1,8'}
    ${'reserved-cpus'}              | ${'3-1'}                 | ${'--reserved-cpus: "3-1" is not a list of CPUs'}
    ${'reserved-cpus'}              | ${'0-'}                  | ${'is not a list of CPUs'}
    ${'reserved-cpus'}              | ${'0;1'}                 | ${'is not a list of CPUs'}
    ${'reserved-cpus'}              | ${'-1'}                  | ${'is not a list of CPUs'}
    ${'reserved-cpus'}              | ${'99999999'}            | ${'is not a list of CPUs'}
    ${'reserved-cpu-count'}         | ${'0'}                   | ${'reserves nothing, and the system needs at least one CPU'}
    ${'reserved-cpu-count'}         | ${'0m'}                  | ${'reserves nothing'}
    ${'reserved-cpu-count'}         | ${'-1'}                  | ${'is not a quantity of CPUs; write CPUs like 2, 1.5 or 500m'}
    ${'reserved-cpu-count'}         | ${'1k'}                  | ${'is not a quantity of CPUs'}
    ${'reserved-cpu-count'}         | ${'1.0001'}              | ${'is not a quantity of CPUs'}
    ${'reserved-cpu-count'}         | ${'999999'}              | ${'is more than any machine has'}
    ${'min-shared-cpus'}            | ${'0'}                   | ${'is out of range; write a whole number from 1 to 65535'}
    ${'min-shared-cpus'}            | ${'1.5'}                 | ${'is not a whole number'}
    ${'on-insufficient-cpu'}        | ${'fail'}                | ${'choose one of refuse, share'}
    ${'lift-cpu-quota'}             | ${'true'}                | ${'--lift-cpu-quota: "true" is not a switch; write on or off'}
    ${'reconcile-period'}           | ${'10'}                  | ${'--reconcile-period: "10" is not a duration; write it like 10s, 1m30s or 500ms'}
    ${'reconcile-period'}           | ${'10 s'}                | ${'is not a duration'}
    ${'reconcile-period'}           | ${'-1s'}                 | ${'is not a duration'}
    ${'reconcile-period'}           | ${'0s'}                  | ${'is too short; the shortest is 100ms'}
    ${'reconcile-period'}           | ${'25h'}                 | ${'is too long; the longest is 24h'}
    ${'state-dir'}                  | ${'var/lib'}             | ${'--state-dir: "var/lib" is not an absolute path; let it begin with /'}
    ${'admin-socket'}               | ${'cpusetd.sock'}        | ${'is not an absolute path; write the absolute path of a unix socket'}
    ${'admin-socket'}               | ${`/${'x'.repeat(107)}`} | ${'is too long for a socket; use a path of at most 107 bytes'}
    ${'cri-endpoint'}               | ${'tcp://127.0.0.1:1'}   | ${'is not an absolute path'}
    ${'nri-plugin-index'}           | ${'5'}                   | ${'--nri-plugin-index: "5" is not a plugin index; write two digits, 00 to 99'}
    ${'nri-plugin-name'}            | ${'a b'}                 | ${'is not a plugin name'}
    ${'health-address'}             | ${'9100'}                | ${'is not an address with a port; write it like 127.0.0.1:14709 or [::1]:14709'}
    ${'health-address'}             | ${':9100'}               | ${'is not an address with a port'}
    ${'health-address'}             | ${'::1:9100'}            | ${'is not an address with a port'}
    ${'metrics-address'}            | ${'localhost:65536'}     | ${'has a port above 65535'}
    ${'http-address'}               | ${'65536'}               | ${'has a port above 65535'}
    ${'http-address'}               | ${'host'}                | ${'is not an address with a port; write it like 14710, which only this machine reaches, or 192.0.2.7:14710'}
    ${'http-hosts'}                 | ${'a.example:80'}        | ${'is not a list of host names; write names without ports, with commas between'}
    ${'http-hosts'}                 | ${'a,,b'}                | ${'is not a list of host names'}
    ${'log-level'}                  | ${'loud'}                | ${'choose one of trace, debug, info, warn, error, fatal'}
  `('--$flag "$text"', async ({ flag, text, message }) => {
    const reservation = flag.startsWith('reserved') ? {} : { CPUSETD_RESERVED_CPUS: '0' };
    expect(await loadWrong({ flags: { [flag]: [text] }, env: reservation })).toEqual([
      expect.stringContaining(message),
    ]);
  });

  test.each`
    what                                        | given                                                                                   | message
    ${'a variable with a bad value'}            | ${{ env: { CPUSETD_LOG_LEVEL: 'loud' } }}                                               | ${'CPUSETD_LOG_LEVEL: "loud" is not a known value; choose'}
    ${'a variable of no option'}                | ${{ env: { CPUSETD_LOGLEVEL: 'info' } }}                                                | ${'CPUSETD_LOGLEVEL: no such option; remove it'}
    ${'a flag twice'}                           | ${{ flags: { 'log-level': ['info', 'info'] } }}                                         | ${'--log-level: is given 2 times; give it once'}
    ${'two files'}                              | ${{ flags: { config: ['/a', '/b'] } }}                                                  | ${'--config: is given 2 times; give it once'}
    ${'a missing file'}                         | ${{ flags: { config: ['/nope.yaml'] } }}                                                | ${'--config /nope.yaml: no such file; check the path'}
    ${'a missing file named by CPUSETD_CONFIG'} | ${{ env: { CPUSETD_CONFIG: '/nope.yaml' } }}                                            | ${'--config /nope.yaml: no such file; check the path'}
    ${'a bad value in the file'}                | ${{ file: '# x\nmin-shared-cpus: 1\nlog-level: loud' }}                                 | ${'/cpusetd.yaml:3: log-level: "loud" is not a known value'}
    ${'an unknown key'}                         | ${{ file: 'log-level: info\nloglevel: info' }}                                          | ${'/cpusetd.yaml:2: loglevel: no such option; remove it'}
    ${'a key of the type Config'}               | ${{ file: 'logLevel: info' }}                                                           | ${'/cpusetd.yaml:1: logLevel: no such option'}
    ${'a key twice'}                            | ${{ file: 'log-level: info\nlog-format: json\nlog-level: warn' }}                       | ${'/cpusetd.yaml:3: an option is set twice; correct the file'}
    ${'a key twice in JSON'}                    | ${{ file: '{"log-level": "info",\n"log-level": "warn"}' }}                              | ${'/cpusetd.yaml:2: an option is set twice'}
    ${'a key without value'}                    | ${{ file: 'log-level:' }}                                                               | ${'/cpusetd.yaml:1: log-level: has no value that can be read'}
    ${'lists in lists'}                         | ${{ file: 'cpu-manager-policy-options: [[a]]' }}                                        | ${'cpu-manager-policy-options: has no value that can be read'}
    ${'a list of words'}                        | ${{ file: '- log-level' }}                                                              | ${'/cpusetd.yaml:1: is not a mapping; write lines like reserved-cpus: 0-1'}
    ${'one word'}                               | ${{ file: 'hello' }}                                                                    | ${'is not a mapping'}
    ${'two documents'}                          | ${{ file: 'log-level: info\n---\nlog-level: warn' }}                                    | ${'holds more than one document'}
    ${'a key that is a list'}                   | ${{ file: '? [a]\n: b' }}                                                               | ${'no such option'}
    ${'an alias without anchor'}                | ${{ file: 'log-level: *nope' }}                                                         | ${'/cpusetd.yaml:1:'}
    ${'binary rubbish'}                         | ${{ file: '\u0000\u0001{{{' }}                                                          | ${'/cpusetd.yaml:1:'}
    ${'a file that is too large'}               | ${{ file: `# ${'x'.repeat(1 << 16)}` }}                                                 | ${'larger than 64 KiB'}
    ${'lists nested too deep'}                  | ${{ file: `log-level: ${'['.repeat(60_000)}` }}                                         | ${'/cpusetd.yaml:1: is nested deeper than 32 levels'}
    ${'dashes nested too deep'}                 | ${{ file: '- '.repeat(30_000) }}                                                        | ${'/cpusetd.yaml:1: is nested deeper than 32 levels'}
    ${'a mapping as a value'}                   | ${{ file: 'log-level: {a: b}' }}                                                        | ${'log-level: "a=b" is not a known value'}
    ${'options with policy numa'}               | ${{ flags: { 'cpu-manager-policy': ['numa'], 'cpu-manager-policy-options': ['a=1'] } }} | ${'--cpu-manager-policy-options: the policy numa has no options'}
    ${'options with policy none'}               | ${{ flags: { 'cpu-manager-policy': ['none'], 'cpu-manager-policy-options': ['a=1'] } }} | ${'--cpu-manager-policy-options: the policy none has no options'}
  `('$what is a problem', async ({ given, message }: { given: Given; message: string }) => {
    expect((await loadWrong(reserved(given)))[0]).toContain(message);
  });

  test('a FIFO as config file is a problem, and the start does not hang', async () => {
    spawnSync('mkfifo', [join(folder, 'f')]);
    expect(await loadWrong(reserved({ flags: { config: [join(folder, 'f')] } }))).toEqual([
      '--config /f: is not a regular file; check the path',
    ]);
  });

  test('a file with 1000 syntax errors: 20 problems and a count', async () => {
    expect(await loadWrong(reserved({ file: '}'.repeat(1000) }))).toHaveLength(21); // 20 problems and a count of the rest
  });

  test('a folder as config file is a problem', async () => {
    mkdirSync(join(folder, 'd'));
    expect(await loadWrong(reserved({ flags: { config: [join(folder, 'd')] } }))).toEqual([
      '--config /d: is a folder, not a file; check the path',
    ]);
  });

  test.each([
    ['node-resource-topology', 'community'],
    ['kube-events', 'on'],
    ['node-condition', 'on'],
    ['kubelet-config', 'configz'],
  ])('--%s %s needs the API server', async (name, value) => {
    expect(await loadWrong(reserved({ flags: { [name]: [value] } }))).toEqual([
      `--${name}: this goes through the API server; set --kubeconfig`,
    ]);
  });

  test.each`
    what                           | given                                                                              | message
    ${'none'}                      | ${{}}                                                                              | ${'no CPU is reserved, and the static policy needs at least one for the system; set --reserved-cpus or --reserved-cpu-count'}
    ${'none, with a Crane policy'} | ${{ flags: { 'cpu-manager-policy': ['numa'] } }}                                   | ${'no CPU is reserved, and the numa policy needs at least one'}
    ${'two'}                       | ${{ flags: { 'reserved-cpus': ['0'] }, env: { CPUSETD_RESERVED_CPU_COUNT: '1' } }} | ${'--reserved-cpus and CPUSETD_RESERVED_CPU_COUNT: both say what is reserved; set only one of them'}
    ${'two, one in the file'}      | ${{ flags: { 'reserved-cpus': ['0'] }, file: '\nreserved-cpu-count: 500m' }}       | ${'--reserved-cpus and /cpusetd.yaml:2: reserved-cpu-count: both say'}
  `('reservations given: $what: a problem', async ({ given, message }: { given: Given; message: string }) => {
    expect(await loadWrong(given)).toEqual([expect.stringContaining(message)]);
  });

  describe.each(['none', 'static', 'exclusive', 'numa', 'immovable'])('under the policy %s', (policy) => {
    describe.each(['off', 'none', 'static', 'exclusive', 'numa', 'immovable', 'all', 'none,static'])(
      'where pods may choose %s',
      (podPolicies) => {
        const given = { 'cpu-manager-policy': [policy], 'pod-policies': [podPolicies] };
        const pins = policy !== 'none' || !['off', 'none'].includes(podPolicies);

        test(`${pins ? 'a' : 'no'} reservation is required`, async () => {
          const who =
            policy === 'none'
              ? /pods may choose .*(static|exclusive|numa|immovable)/
              : new RegExp(`the ${policy} policy`);
          const want = pins
            ? [expect.stringMatching(/^no CPU is reserved, and .* at least one for the system; set /)]
            : [];
          const problems = await loadWrong({ flags: given });
          expect(problems).toEqual(want);
          if (pins) expect(problems[0]).toMatch(who);
        });

        test.each([
          ['reserved-cpus', '0'],
          ['reserved-cpu-count', '500m'],
          ['kubelet-config', '/etc/kubelet.yaml'],
        ])('--%s %s is accepted as a reservation', async (name, text) => {
          expect(await loadWrong({ flags: { ...given, [name]: [text] } })).toEqual([]);
        });
      },
    );
  });

  test('without a reservation the problem names the place where pods may choose', async () => {
    const given = { flags: { 'cpu-manager-policy': ['none'] }, env: { CPUSETD_POD_POLICIES: 'none,numa,static' } };
    expect(await loadWrong(given)).toEqual([
      'no CPU is reserved, and pods may choose static, numa (CPUSETD_POD_POLICIES), which needs at least one for the system; ' +
        'set --reserved-cpus or --reserved-cpu-count',
    ]);
  });

  test.each([
    ['is no YAML', '}', /correct the file/],
    ['is a list', '- reserved-cpus', /is not a mapping/],
    ['has no value for it', 'reserved-cpus:', /reserved-cpus: has no value/],
  ])('a file that %s: no problem about a missing reservation', async (_name, file, problem) => {
    expect(await loadWrong({ file })).toEqual([expect.stringMatching(problem)]);
  });

  test('an unreadable config file is the only problem', async () => {
    const flags = { config: [join(folder, 'nowhere')], mode: ['cri-proxy'], 'kube-events': ['on'] };
    expect(await loadWrong({ flags })).toEqual([expect.stringMatching(/nowhere: no such file/)]);
  });

  test.each`
    what            | given                                               | text
    ${'a flag'}     | ${{ flags: { 'reserved-cpu-count': ['1001m'] } }}   | ${'--reserved-cpu-count 1001m'}
    ${'a variable'} | ${{ env: { CPUSETD_RESERVED_CPU_COUNT: '1.001' } }} | ${'CPUSETD_RESERVED_CPU_COUNT 1.001'}
    ${'a file'}     | ${{ file: 'reserved-cpus: "3, 0-1"' }}              | ${'/cpusetd.yaml:1: reserved-cpus 3, 0-1'}
  `('placeOf quotes the text of an option set by $what', async ({ given, text }) => {
    const loaded = await load(given as Given);
    const name =
      String(text).includes('count') || String(text).includes('COUNT') ? 'reserved-cpu-count' : 'reserved-cpus';
    expect(loaded.ok && loaded.placeOf(name, { withText: true }).replaceAll(folder, '')).toBe(text);
    expect(loaded.ok && loaded.placeOf('mode', { withText: true })).toBe('--mode');
  });

  test.each(['none', 'static', 'exclusive', 'numa', 'immovable'])(
    '--cpu-manager-policy %s is accepted',
    async (policy) => {
      expect(await load(reserved({ flags: { 'cpu-manager-policy': [policy] } }))).toMatchObject({
        ok: true,
        config: { cpuManagerPolicy: policy },
      });
    },
  );

  test('policy options are accepted when pods may choose a policy that has options', async () => {
    const flags = {
      'cpu-manager-policy': ['none'],
      'pod-policies': ['exclusive'],
      'cpu-manager-policy-options': ['full-pcpus-only=true'],
    };
    expect(await load(reserved({ flags }))).toMatchObject({ ok: true });
  });

  test('five problems in flags, variables and the file are all reported', async () => {
    const problems = await loadWrong(
      reserved({
        flags: { mode: ['x'] },
        env: { CPUSETD_LOG_LEVEL: 'x', CPUSETD_X: '1' },
        file: 'log-format: x\ny: 1',
      }),
    );
    expect(problems).toHaveLength(5);
  });
});

test.each([
  'CPUSETD_SERVICE_HOST',
  'CPUSETD_SERVICE_PORT',
  'CPUSETD_SERVICE_PORT_METRICS',
  'CPUSETD_PORT',
  'CPUSETD_PORT_9100_TCP',
  'CPUSETD_PORT_9100_TCP_ADDR',
  'CPUSETD_METRICS_SERVICE_HOST',
])('%s, a variable of a Kubernetes service, is ignored', async (variable) => {
  await expect(loadRight({ env: { [variable]: 'tcp://10.0.0.1:9100' } })).resolves.toBeDefined();
});

test('inForce lists every option that has a value, in the user’s notation, and the place of each', async () => {
  const loaded = await load(reserved({ flags: { 'reconcile-period': ['1m'] } }));
  if (!loaded.ok) throw new Error(loaded.problems.join());
  const { options, setAt } = loaded.inForce;
  const wanted = OPTION_KEYS.filter((key) => OPTIONS[key].default || key === 'reservedCpus').map(nameOf);
  expect(Object.keys(options)).toEqual(wanted);
  expect(options).toMatchObject({ 'reconcile-period': '1m', 'reserved-cpus': '0', mode: OPTIONS.mode.default });
  expect(setAt).toEqual({ 'reconcile-period': '--reconcile-period', 'reserved-cpus': 'CPUSETD_RESERVED_CPUS' });
});
