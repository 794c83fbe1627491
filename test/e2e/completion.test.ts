import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { loadScript } from '../support/load-script';
import { bundle } from './rig';

jest.setTimeout(300_000);

const run = promisify(execFile);
const SHELLS = { bash: 'bash', zsh: 'zsh', fish: 'fish' } as const;

interface HostCommands {
  readonly installCommands: (commands: Readonly<Record<string, string>>, log: (line: string) => void) => void;
}

let folder: string;
beforeAll(async () => {
  const { installCommands } = await loadScript<HostCommands>('shared/host-commands.mjs');
  installCommands({ ...SHELLS, groff: 'groff-base' }, () => undefined);
  folder = mkdtempSync(join(tmpdir(), 'cpusetd-completion-'));
  for (const shell of Object.values(SHELLS)) {
    const { stdout } = await run(process.execPath, [bundle, 'completion', shell]);
    writeFileSync(join(folder, shell === 'zsh' ? '_cpusetd' : `cpusetd.${shell}`), stdout);
  }
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The completions of each shell for a line at the end of which the user presses Tab. */
const complete: Readonly<Record<keyof typeof SHELLS, (line: string) => Promise<readonly string[]>>> = {
  bash: async (line) => {
    const words = line.split(' ');
    const script = `source "$1"; COMP_WORDS=("\${@:2}"); COMP_CWORD=${words.length - 1}; _cpusetd; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const { stdout } = await run('bash', ['--norc', '-c', script, 'bash', join(folder, 'cpusetd.bash'), ...words], {
      cwd: folder,
    });
    return stdout.split('\n').filter((word) => word !== '');
  },
  fish: async (line) => {
    const { stdout } = await run(
      'fish',
      ['--no-config', '-c', `source ${folder}/cpusetd.fish; complete -C '${line}'`],
      {
        cwd: folder,
        env: { ...process.env, HOME: folder, TERM: 'dumb' },
      },
    );
    return stdout.split('\n').flatMap((word) => (word === '' ? [] : word.split('\t')[0]!));
  },
  // Its completion works in a line editor only: it gets one, in a pseudo terminal, and keys when the editor reads them.
  // Ctrl-X l lists what there is.
  zsh: async (line) => {
    const script = `
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "PS1='' PS2=''; stty rows 500 columns 200; fpath=(${folder} \\$fpath); autoload -U compinit; compinit -u -d ${folder}/zcompdump; zstyle ':completion:*' verbose no; setopt no_beep; LISTMAX=1000; bindkey '^Xl' list-choices; zle-line-init() print -n READ''Y; zle -N zle-line-init"
zpty -r shell line '*READY*'
zpty -w -n shell $'${line}\\C-Xl\\C-U print -r -- DO\\'\\'NE\\n'
zpty -r shell line '*DONE*'
print -r -- "$line"
zpty -d shell
`;
    const { stdout } = await run('timeout', ['240', 'zsh', '-f', '-c', script], {
      cwd: folder,
      env: { ...process.env, TERM: 'dumb' },
    });
    return stdout
      .replace(/\u001b\[[\d;?]*[A-Za-z]/g, ' ')
      .split(/\s+/)
      .filter((word) => word !== '');
  },
};

describe.each(Object.values(SHELLS))('completion in %s', (shell) => {
  test.each([
    ['cpusetd sta', ['status', 'state']],
    ['cpusetd state ', ['show', 'verify', 'export-kubelet', 'import-kubelet']],
    ['cpusetd status --dri', ['--drifted']],
    ['cpusetd status -o ', ['table', 'wide', 'json', 'yaml']],
    ['cpusetd state show --output ', ['table', 'json', 'yaml']],
    ['cpusetd run --mode ', ['nri', 'cri-proxy']],
    ['cpusetd completion ', ['bash', 'zsh', 'fish']],
  ])('after "%s" there are %j', async (line, expected) => {
    expect(await complete[shell](line)).toEqual(expect.arrayContaining(expected));
  });

  test('options are those of the command, and files stand where files are meant', async () => {
    writeFileSync(join(folder, 'policy.yaml'), '');
    expect(await complete[shell]('cpusetd policy check pol')).toEqual(
      expect.arrayContaining([expect.stringContaining('policy.yaml')]),
    );
    const ofState = await complete[shell]('cpusetd state verify --');
    expect(ofState).toEqual(expect.arrayContaining([expect.stringContaining('--state-dir')]));
    expect(ofState.join(' ')).not.toContain('--drifted');
  });
});

test('the man page is set by groff without a warning, and has every command', async () => {
  const page = join(folder, 'cpusetd.8');
  const { stdout } = await run(process.execPath, [bundle, 'man']);
  writeFileSync(page, stdout);
  const { stdout: text, stderr } = await run('groff', ['-man', '-Tutf8', '-ww', page], {
    env: { ...process.env, GROFF_NO_SGR: '1' },
  });
  expect(stderr).toBe('');
  const plain = text.replace(/.\u0008/g, '');
  for (const line of [
    'cpusetd run [options]',
    'cpusetd status [options] [pod]',
    '-o, --output <format>',
    'EXIT STATUS',
  ])
    expect(plain).toContain(line);
});
