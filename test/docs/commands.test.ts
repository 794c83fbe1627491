import { X509Certificate, createPrivateKey } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineUnless } from '../support/not-run';
import { NOT_RUN, ROWS } from './command-rows';
import { findFault, isCommand } from './command-rules';
import { listCommands, listPages, listScripts, type PageCommand, splitScript } from './commands';
import { readPage, ROOT } from './markdown';
import { readPageCommands } from './page-commands';
import { missingSystemctl, playBlock } from './play-block';

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

/**
 * Pages whose blocks a test runs as they are, with this test. The other commands of the page need a rule or a row, as
 * on all pages.
 */
const RUN_AS_THEY_ARE: Readonly<Record<string, string>> = { 'docs/quick-start.md': 'test/cluster/quick-start.test.ts' };

/** True for a command in a block that the test of the page runs. */
function isRunAsItIs({ page, line }: PageCommand): boolean {
  if (RUN_AS_THEY_ARE[page] === undefined) return false;
  return readPageCommands(read(page)).some(
    (block) => block.runBy !== 'nobody' && line >= block.line && line < block.line + block.commands.split('\n').length,
  );
}

describe('the commands of all pages', () => {
  const pages = listPages();
  const all = pages.flatMap((page) => listCommands(page, read(page), isCommand));
  const commands = all.filter((command) => !isRunAsItIs(command));

  test('there are some in blocks, behind prompts, in lists and in sentences', () => {
    const found = commands.map(({ page, words }) => `${page}: ${words.join(' ')}`);
    expect(found).toEqual(
      expect.arrayContaining([
        'README.md: npm test',
        'README.md: cpusetd topology',
        'README.md: systemctl enable --now cpusetd',
        'docs/kubectl.md: kubectl apply -f deploy/kubectl/viewer.yaml',
        'docs/page.md: kubectl -n cpusetd port-forward pod/POD 14710',
        'test/fuzz/README.md: npm run fuzz -- --keep',
      ]),
    );
  });

  test('each is known to its program, or a test runs it', async () => {
    const faults = await Promise.all(commands.map(findFault));
    expect(faults.filter((fault) => fault !== undefined)).toEqual([]);
  });

  test.each(Object.entries(RUN_AS_THEY_ARE))('the blocks of %s are run by %s', (page, file) => {
    expect(all.filter(isRunAsItIs).map((command) => command.page)).toContain(page);
    expect(read(file)).toContain(page);
    expect(read(file)).toContain('readPageCommands(');
  });

  test('each row has a command of a page', () => {
    const texts = commands.map(({ words }) => words.join(' '));
    const unused = [...ROWS, ...NOT_RUN].filter(({ command }) => !texts.some((text) => command.test(text)));
    expect(unused.map(({ command }) => `${command.source}: no page has such a command; remove the row`)).toEqual([]);
  });

  test('each row names a file that runs the command', () => {
    const wrong = ROWS.filter(({ file, by }) => !existsSync(join(ROOT, file)) || !read(file).includes(by));
    expect(wrong.map(({ command, file, by }) => `${command.source}: ${file} does not have ${by}`)).toEqual([]);
  });
});

describe('commands that are wrong', () => {
  test.each`
    what                                        | text                                                         | want
    ${'a program without a row'}                | ${'    cpufreq-set --all'}                                   | ${'docs/x.md:3: `cpufreq-set --all`: no test is known that runs it'}
    ${'the second of two programs'}             | ${'    cpusetd status | frob'}                               | ${'`frob`: no test is known'}
    ${'a block that is no command'}             | ${'    wholeCPUs: 1'}                                        | ${'if it is no command, fence the block'}
    ${'another form of a known program'}        | ${'    openssl-3 req'}                                       | ${'no test is known'}
    ${'an option that does not exist'}          | ${'    cpusetd explain --gone 4'}                            | ${"unknown option '--gone'"}
    ${'the same behind a prompt'}               | ${'```\n$ cpusetd explain --gone 4\noutput\n```'}            | ${"unknown option '--gone'"}
    ${'the same in a sentence'}                 | ${'Ask `cpusetd explain --gone`.'}                           | ${"unknown option '--gone'"}
    ${'the same in a container'}                | ${'    kubectl exec POD -- cpusetd explain --gone'}          | ${"unknown option '--gone'"}
    ${'a subcommand that does not exist'}       | ${'Ask `cpusetd gone x`.'}                                   | ${"unknown command 'gone'"}
    ${'a value that is not allowed'}            | ${'    cpusetd status --verdict gone'}                       | ${'--verdict'}
    ${'a value that the daemon refuses'}        | ${'    cpusetd run --mode gone'}                             | ${'mode'}
    ${'an argument that is missing in a block'} | ${'    cpusetd policy check'}                                | ${"missing required argument 'file'"}
    ${'the plugin, with an unknown option'}     | ${'    kubectl cpuset nodes --gone'}                         | ${"unknown option '--gone'"}
    ${'a script of npm that does not exist'}    | ${'Start `npm run gone`.'}                                   | ${'package.json has no such script'}
    ${'arguments that npm takes itself'}        | ${'    npm run fuzz --seed 1'}                               | ${'only after `--`'}
    ${'an option that a script does not have'}  | ${'    npm run fuzz -- --gone'}                              | ${'scripts/fuzz.mjs does not know --gone'}
    ${'a bench that does not exist'}            | ${'    npm run bench -- gone'}                               | ${'there is no bench/gone.ts'}
    ${'tests that do not exist'}                | ${'    npm run e2e:cluster -- test/cluster/gone'}            | ${'does not know test/cluster/gone'}
    ${'a script that does not exist'}           | ${'Start `node scripts/gone.mjs`.'}                          | ${'there is no scripts/gone.mjs'}
    ${'an option that jest does not have'}      | ${'    npm run e2e -- --gone'}                               | ${'jest has no option --gone'}
    ${'a project that jest does not have'}      | ${'    npx jest --selectProjects gone'}                      | ${'jest.config.js has no project gone'}
    ${'a variable that nothing reads'}          | ${'    CPUSETD_GONE=1 npm run e2e'}                          | ${'reads CPUSETD_GONE'}
    ${'a folder that does not exist'}           | ${'    kubectl apply -k deploy/overlays/gone'}               | ${'there is no deploy/overlays/gone/kustomization.yaml'}
    ${'a file that no test applies'}            | ${'    kubectl apply -f deploy/etc/cpusetd.yaml'}            | ${'no test with an API server applies deploy/etc/cpusetd.yaml'}
    ${'a patch that is no JSON'}                | ${"    kubectl patch pod x --patch '{'"}                     | ${'SyntaxError'}
    ${'a unit that does not exist'}             | ${'    systemctl restart gone'}                              | ${'there is no deploy/gone.service'}
    ${'a unit that cannot be reloaded'}         | ${'    systemctl reload cpusetd-cri-proxy.socket'}           | ${'has no ExecReload='}
    ${'a method that does not exist'}           | ${'    grpcurl cpusetd.v1.CpuManager/Gone'}                  | ${'no method cpusetd.v1.CpuManager/Gone'}
    ${'a field that does not exist'}            | ${`    grpcurl -d '{"x": 1}' cpusetd.v1.CpuManager/Explain`} | ${'ExplainRequest has no field x'}
  `('given $what, then it is reported', async ({ text, want }: { text: string; want: string }) => {
    const found = listCommands('docs/x.md', `A page.\n\n${text}\n`, isCommand);
    const faults = (await Promise.all(found.map(findFault))).filter((fault) => fault !== undefined);
    expect(faults).toEqual([expect.stringContaining(want)]);
  });

  test.each(['Ask `cpusetd allocate`.', 'See `cpusetd state`.', '`node topology is not published`', '```\nfrob\n```'])(
    'given %j, then nothing is reported',
    async (text) => {
      const found = listCommands('docs/x.md', text, isCommand);
      expect((await Promise.all(found.map(findFault))).filter((fault) => fault !== undefined)).toEqual([]);
    },
  );
});

describe('reading', () => {
  test.each`
    what                                   | script                              | want
    ${'two lines'}                         | ${'a 1\nb 2'}                       | ${['1: a 1', '2: b 2']}
    ${'a line that continues'}             | ${'a \\\n  1\nb'}                   | ${['1: a 1', '3: b']}
    ${'a string of two lines'}             | ${"a '1\n2'\nb"}                    | ${['1: a 1\n2', '3: b']}
    ${'pipes and lists'}                   | ${'a | b && c; d'}                  | ${['1: a', '1: b', '1: c', '1: d']}
    ${'comments'}                          | ${'# a\nb c#d # e'}                 | ${['2: b c#d']}
    ${'quotes'}                            | ${'a "b \\"c" \'d|e\' f\\ g'}       | ${['1: a b \\"c d|e f g']}
    ${'redirections'}                      | ${'a > b 2>&1 < c d 2>/dev/null'}   | ${['1: a d']}
    ${'a here-document'}                   | ${'a <<EOF 1\nb\nEOF\nc'}           | ${['1: a 1', '4: c']}
    ${'a here-document with a quoted end'} | ${"a <<'END'\nb | c\nEND\nd"}       | ${['1: a', '4: d']}
    ${'what stands before a command'}      | ${'A=1 sudo b\nC=2'}                | ${['1: b']}
    ${'a loop'}                            | ${'for a in 1 2; do\n  b $a\ndone'} | ${['2: b $a']}
    ${'a command in another'}              | ${'a <(b 1) $(c)'}                  | ${['1: b 1', '1: c', '1: a <(b 1) $(c)']}
  `(
    'given $what, then the commands and their lines are these',
    ({ script, want }: { script: string; want: string[] }) => {
      expect(splitScript(script).map(({ line, words }) => `${line}: ${words.join(' ')}`)).toEqual(want);
    },
  );

  test('blocks are indented below the text of their list; other lines of the list are text', () => {
    const page = '1. Do:\n\n       a 1\n\n   - and\n\n         b 2\n\n     text, no block\n\n2. next\n\n    text too\n';
    expect(listCommands('x', page).map(({ line, words }) => `${line}: ${words.join(' ')}`)).toEqual([
      '3: a 1',
      '7: b 2',
    ]);
  });

  test('a block with prompts has its output beside them; a prompt can continue', () => {
    const page = '```\n$ a \\\n  1\noutput\n$ b\n```\n\n    $ c\n    output\n';
    expect(listCommands('x', page).map(({ line, words }) => `${line}: ${words.join(' ')}`)).toEqual([
      '2: a 1',
      '5: b',
      '8: c',
    ]);
  });
});

describe('blocks that are run', () => {
  let folder: string;
  let checkout: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'cpusetd-pages-'));
    checkout = join(folder, 'checkout');
    mkdirSync(join(checkout, 'dist'), { recursive: true });
    symlinkSync(join(ROOT, 'deploy'), join(checkout, 'deploy'));
    writeFileSync(join(checkout, 'dist/cpusetd.js'), 'the program');
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  /** The blocks of a page with this text, run in the checkout, one after the other. */
  function play(page: string, stage: string, has: string): readonly string[] {
    mkdirSync(stage, { recursive: true });
    const scripts = listScripts(readPage(page)).filter((script) => script.includes(has));
    if (scripts.length === 0) throw new Error(`no block of ${page} has "${has}"`);
    return scripts.flatMap((script) => playBlock(script, { cwd: checkout, stage }));
  }
  const programs: Readonly<Record<string, string>> = {
    'usr/local/bin/cpusetd': 'dist/cpusetd.js',
    'etc/cpusetd.yaml': 'deploy/etc/cpusetd.yaml',
  };
  const unitsOf = (...names: string[]): Record<string, string> =>
    Object.fromEntries(names.map((name) => [`etc/systemd/system/${name}`, `deploy/${name}`]));
  const service = 'cpusetd.service';
  const proxy = ['cpusetd-cri-proxy.service', 'cpusetd-cri-proxy.socket'];
  const dropIn = 'kubelet.service.d/10-cpusetd.conf';

  test.each([
    ['../README.md', { ...programs, ...unitsOf(service) }],
    ['install.md', { ...programs, ...unitsOf(service, dropIn) }],
    ['cri-proxy.md', { ...programs, ...unitsOf(...proxy) }],
    ['kubectl.md', { 'usr/local/bin/cpusetd': 'dist/cpusetd.js' }],
  ])('%s installs the files of the project, and only the program may be executed', (page, files) => {
    const stage = join(folder, page.replaceAll(/\W/g, '-'));
    play(page, stage, 'install -m');
    for (const [path, source] of Object.entries(files)) {
      expect([path, readFileSync(join(stage, path))]).toEqual([path, readFileSync(join(checkout, source))]);
      expect([path, statSync(join(stage, path)).mode & 0o777]).toEqual([
        path,
        source.startsWith('dist') ? 0o755 : 0o644,
      ]);
    }
    if (page === 'kubectl.md') expect(readlinkSync(join(stage, 'usr/local/bin/kubectl-cpuset'))).toBe('cpusetd');
  });

  test('install.md moves over from the kubelet and back: the kubelet stands still meanwhile, and its file goes and comes', () => {
    const stage = join(folder, 'moving');
    const file = join(stage, 'var/lib/kubelet/cpu_manager_state');
    play('install.md', stage, 'install -m');
    writeFileSync(file, '{}');
    expect(play('install.md', stage, 'import-kubelet --config')).toEqual([
      'systemctl stop kubelet',
      `cpusetd state import-kubelet --config ${stage}/etc/cpusetd.yaml ${file}`,
      'systemctl daemon-reload',
      'systemctl enable --now cpusetd',
      'cpusetd health nri',
      'systemctl start kubelet',
    ]);
    expect(existsSync(file)).toBe(false);
    expect(play('install.md', stage, 'export-kubelet --config')).toEqual([
      'systemctl stop kubelet cpusetd',
      `cpusetd state export-kubelet --config ${stage}/etc/cpusetd.yaml`,
      'systemctl daemon-reload',
      'systemctl disable cpusetd',
      'systemctl start kubelet',
    ]);
    expect([existsSync(file), existsSync(join(stage, 'etc/systemd/system', dropIn))]).toEqual([true, false]);
  });

  defineUnless(missingSystemctl, () => {
    test.each([
      ['../README.md', [`multi-user.target.wants/${service}`]],
      ['install.md', [`multi-user.target.wants/${service}`]],
      ['cri-proxy.md', [`multi-user.target.wants/${proxy[0]}`, `sockets.target.wants/${proxy[1]}`]],
    ])('%s enables what it installs', (page, links) => {
      const stage = join(folder, `enabled-${page.replaceAll(/\W/g, '-')}`);
      play(page, stage, 'install -m');
      if (page === 'cri-proxy.md') play(page, stage, 'systemctl enable');
      for (const link of links)
        expect(readlinkSync(join(stage, 'etc/systemd/system', link))).toBe(`/etc/systemd/system/${link.split('/')[1]}`);
    });

    test('install.md disables the service on the way back', () => {
      const stage = join(folder, 'disabled');
      const link = join(stage, 'etc/systemd/system/multi-user.target.wants', service);
      play('install.md', stage, 'install -m');
      expect(readlinkSync(link)).toBe(`/etc/systemd/system/${service}`);
      play('install.md', stage, 'systemctl disable');
      expect(() => readlinkSync(link)).toThrow('ENOENT');
    });
  });

  test('load-aware-scheduling.md makes an authority, a certificate for the Service, and one for kube-scheduler', () => {
    const cwd = join(folder, 'certificates');
    mkdirSync(cwd);
    const [script = ''] = listScripts(readPage('load-aware-scheduling.md')).filter((text) => text.includes('openssl'));
    playBlock(script, { cwd, stage: cwd });
    const certificate = (name: string): X509Certificate => new X509Certificate(readFileSync(join(cwd, `${name}.crt`)));
    const authority = certificate('ca');
    expect(authority.ca).toBe(true);
    for (const name of ['tls', 'client']) {
      const made = certificate(name);
      expect([name, made.verify(authority.publicKey)]).toEqual([name, true]);
      expect([name, made.checkPrivateKey(createPrivateKey(readFileSync(join(cwd, `${name}.key`))))]).toEqual([
        name,
        true,
      ]);
    }
    for (const name of ['cpusetd-extender', 'cpusetd-extender.cpusetd-scheduling.svc'])
      expect(certificate('tls').checkHost(name)).toBe(name);
  });

  test.each([
    ['another program', 'reboot', 'reboot has no stand-in'],
    ['a path that is not moved to the stage', 'rm -r "/etc/x"', '/etc would not be on the stage'],
    ['a folder that has no place there', 'rm /run/x', '/run would not be on the stage'],
  ])('a block with %s does not run', (_what, script, want) => {
    const kept = join(folder, 'kept');
    writeFileSync(kept, '');
    expect(() => playBlock(`rm ${kept}\n${script}`, { cwd: checkout, stage: folder })).toThrow(want);
    expect(existsSync(kept)).toBe(true);
  });

  test('a block ends at the first command that fails', () => {
    const script = 'install -m 0644 gone /etc/gone\ncpusetd status';
    expect(() => playBlock(script, { cwd: checkout, stage: folder })).toThrow(/status 1[^]*gone/);
  });
});
