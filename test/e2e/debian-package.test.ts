import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { requireRuntime } from './rig';
import { projectRoot } from './rig/project-root';

// dpkg installs, upgrades and removes the package in a Debian of its own, whose systemctl only writes down what it is
// asked for.

jest.setTimeout(300_000);

const run = promisify(execFile);
const { version } = JSON.parse(readFileSync(join(projectRoot(), 'package.json'), 'utf8')) as { version: string };

/**
 * Enables a unit by the preset of Debian, knows what is enabled, and writes everything else down with the program that
 * is there at that time.
 */
const systemctl = `#!/bin/sh
for unit; do :; done
case "$*" in
  *is-enabled*)
    if [ -L "/etc/systemd/system/multi-user.target.wants/$unit" ]; then echo enabled; else echo disabled; exit 1; fi ;;
  *preset*) mkdir -p /etc/systemd/system/multi-user.target.wants; ln -s x "/etc/systemd/system/multi-user.target.wants/$unit" ;;
  *is-active*) exit 3 ;;
  *)
    program=none
    if grep -q '^// new' /usr/bin/cpusetd; then program=new; elif [ -e /usr/bin/cpusetd ]; then program=old; fi
    echo "$*, with the $program program" >> /run/asked ;;
esac 2> /dev/null
`;

/** A Debian whose changes are in memory. Ends with its `end`. */
async function startDebian(root: string, folder: string) {
  const place = join(folder, 'debian');
  mkdirSync(folder);
  const script = `
    set -e
    mount -t tmpfs tmpfs "${folder}"
    mkdir "${folder}/upper" "${folder}/work" "${place}"
    mount -t overlay -o "lowerdir=${root},upperdir=${folder}/upper,workdir=${folder}/work" overlay "${place}"
    mount -t proc proc "${place}/proc"
    mount -t tmpfs tmpfs "${place}/run"
    echo ready
    exec cat > /dev/null`;
  const holder = spawn('unshare', ['--mount', '--propagation', 'private', 'sh', '-c', script]);
  const complaint = text(holder.stderr);
  const ended = once(holder, 'close').then(async () => {
    throw new Error(`no Debian: ${await complaint}`);
  });
  ended.catch(() => undefined);
  await Promise.race([once(holder.stdout, 'data'), ended]);
  const inside = (...command: string[]) => run('nsenter', [`--mount=/proc/${holder.pid}/ns/mnt`, ...command]);
  const env = ['env', '-i', 'PATH=/usr/sbin:/usr/bin:/sbin:/bin', 'DEBIAN_FRONTEND=noninteractive'];
  return {
    /** Runs a shell script as root in it. Gives its output. */
    sh: async (line: string) => (await inside('chroot', place, ...env, 'sh', '-ec', line)).stdout,
    /** Copies a file of the host into it. */
    put: (from: string, to: string) => inside('cp', from, join(place, to)),
    end: async () => {
      holder.stdin.end();
      if (holder.exitCode === null) await once(holder, 'close');
    },
  };
}

requireRuntime('trixie')('the Debian package in a Debian of its own', () => {
  let folder: string;
  let debian: Awaited<ReturnType<typeof startDebian>>;

  /** The calls of systemctl since the last time, without the questions. */
  const asked = async (): Promise<string[]> =>
    (await debian.sh('cat /run/asked 2> /dev/null || true; rm -f /run/asked'))
      .replaceAll(/--(system|quiet) ?/g, '')
      .split('\n')
      .filter((line) => line !== '');
  const install = (name: string) => debian.sh(`dpkg --force-confdef --force-confold -i /root/${name} 2>&1`);
  const isEnabled = () =>
    debian.sh('test -L /etc/systemd/system/multi-user.target.wants/cpusetd.service && echo yes || echo no');

  // As an administrator does with systemctl.
  const link = '/etc/systemd/system/multi-user.target.wants/cpusetd.service';
  const enable = `mkdir -p $(dirname ${link}); ln -s /usr/lib/systemd/system/cpusetd.service ${link}`;
  const disable = `rm ${link}`;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'cpusetd-package-'));
    const parts = join(folder, 'parts');
    mkdirSync(parts);
    const scripts = join(projectRoot(), 'scripts');
    const release = ['--only', 'deb', '--allow-dirty', '--this-node', '--out', join(parts, 'release')];
    await run(process.execPath, [join(scripts, 'release.mjs'), ...release]);
    const old = join(parts, 'old.deb');
    await run('mv', [join(parts, `release/cpusetd_${version}_all.deb`), old]);
    await run('dpkg-deb', ['-R', old, join(parts, 'new')]);
    await run(
      'sh',
      [
        ...[
          '-ec',
          'echo "// new" >> usr/bin/cpusetd; echo "# new" >> etc/cpusetd.yaml; sed -i "s/^Version: .*/&+1/" DEBIAN/control',
        ],
      ],
      { cwd: join(parts, 'new') },
    );
    await run('dpkg-deb', ['-Znone', '--build', '--root-owner-group', join(parts, 'new'), join(parts, 'new.deb')]);
    const { stdout } = await run(process.execPath, [join(scripts, 'release/node-programs.mjs'), '20']);
    for (const major of ['18', '20']) {
      const tree = join(parts, `nodejs-${major}`);
      mkdirSync(join(tree, 'DEBIAN'), { recursive: true });
      const fields = {
        Package: 'nodejs',
        Version: `${major}.1`,
        Architecture: 'all',
        Maintainer: 'a <a@b>',
        Description: 'Node',
      };
      const control = Object.entries(fields).map(([name, value]) => `${name}: ${value}\n`);
      writeFileSync(join(tree, 'DEBIAN/control'), control.join(''));
      mkdirSync(join(tree, 'usr/bin'), { recursive: true });
      if (major === '20') await run('cp', [stdout.trim(), join(tree, 'usr/bin/node')]);
      await run('dpkg-deb', ['-Znone', '--build', '--root-owner-group', tree, join(parts, `nodejs-${major}.deb`)]);
    }
    writeFileSync(join(parts, 'systemctl'), systemctl, { mode: 0o755 });
    const { stdout: root } = await run(process.execPath, [join(scripts, 'runtime/debian-root.mjs'), 'trixie']);
    debian = await startDebian(root.trim(), join(folder, 'mounts'));
    for (const name of ['old.deb', 'new.deb', 'nodejs-18.deb', 'nodejs-20.deb'])
      await debian.put(join(parts, name), `root/${name}`);
    await debian.put(join(parts, 'systemctl'), 'usr/bin/systemctl');
    // The package's man page and terms come too.
    await debian.sh('mkdir -p /run/systemd/system; rm -f /etc/dpkg/dpkg.cfg.d/*');
  });
  afterAll(async () => {
    await debian?.end();
    rmSync(folder, { recursive: true, force: true });
  });

  test('Node 18: dpkg refuses', async () => {
    await install('nodejs-18.deb');
    await expect(install('old.deb')).rejects.toMatchObject({
      stdout: expect.stringContaining('cpusetd depends on nodejs (>= 20)') as string,
    });
    await debian.sh('dpkg --purge cpusetd nodejs');
    await install('nodejs-20.deb');
    await asked();
  });

  test('first installation: the program runs, the service is not started before somebody has set options', async () => {
    const said = await install('old.deb');
    expect(said).toContain('cpusetd: set reserved-cpus in /etc/cpusetd.yaml');
    expect(await debian.sh('cpusetd --version')).toBe(`${version}\n`);
    expect(await debian.sh('cpusetd config explain --config /etc/cpusetd.yaml')).toMatch(/reserved-cpus +0-1/);
    expect(await asked()).toEqual(['daemon-reload, with the old program']);
    expect(await isEnabled()).toBe('no\n');
    expect(await debian.sh('dpkg --verify cpusetd')).toBe('');
  });

  test('as its text says: with options in the file, check and report know them without being told', async () => {
    await debian.sh('sed -i "s/^reserved-cpus: .*/reserved-cpus: 0/" /etc/cpusetd.yaml');
    const checked = await debian.sh('cpusetd check || test $? = 1'); // there is no runtime in here
    expect(checked).toMatch(/\noptions +ok +those of \/etc\/cpusetd\.yaml are valid/);
    const reported = await debian.sh('cd /tmp && cpusetd report --output r.tar.gz');
    expect(reported).toContain('The options are those of /etc/cpusetd.yaml.');
    await debian.sh(
      'echo "reserved-cpus: nonsense" > /etc/cpusetd.yaml && cd /tmp && cpusetd report --output broken.tar.gz',
    );
    await debian.sh('cp /usr/share/cpusetd/cpusetd.yaml /etc/cpusetd.yaml');
  });

  test('upgrade: options and state stay; the service is restarted when the new program is there, and not stopped before', async () => {
    await debian.sh('sed -i "s/^reserved-cpus: .*/reserved-cpus: 0/" /etc/cpusetd.yaml');
    await debian.sh(enable);
    await debian.sh('mkdir -m 700 /var/lib/cpusetd; echo state > /var/lib/cpusetd/state.json');
    await install('new.deb');
    expect(await asked()).toEqual([
      'daemon-reload, with the new program',
      'restart cpusetd.service, with the new program',
    ]);
    expect(await debian.sh('cat /var/lib/cpusetd/state.json')).toBe('state\n');
    expect(await debian.sh('grep -E "^(reserved-cpus|# new)" /etc/cpusetd.yaml')).toBe('reserved-cpus: 0\n');
    expect(await isEnabled()).toBe('yes\n');
  });

  test('downgrade: the same', async () => {
    await install('old.deb');
    expect(await asked()).toEqual([
      'daemon-reload, with the old program',
      'restart cpusetd.service, with the old program',
    ]);
    expect(await debian.sh('cat /var/lib/cpusetd/state.json')).toBe('state\n');
  });

  test('a service that is disabled stays so in an upgrade', async () => {
    await debian.sh(disable);
    await install('new.deb');
    expect(await asked()).toEqual(['daemon-reload, with the new program']);
    expect(await isEnabled()).toBe('no\n');
    await debian.sh(enable);
  });

  test('removal: all units are stopped while the program is there; options and state stay', async () => {
    await debian.sh('dpkg --remove cpusetd');
    expect(await asked()).toEqual([
      'stop cpusetd.service cpusetd-cri-proxy.socket cpusetd-cri-proxy.service, with the new program',
      'daemon-reload, with the none program',
    ]);
    expect(await debian.sh('cat /var/lib/cpusetd/state.json; ls /etc/cpusetd.yaml')).toBe('state\n/etc/cpusetd.yaml\n');
    expect(await debian.sh('ls /usr/bin/cpusetd /usr/lib/systemd/system/cpusetd* 2> /dev/null || true')).toBe('');
  });

  test('installed again: it starts with the options and the state that were left', async () => {
    await install('old.deb');
    expect(await asked()).toEqual([
      'daemon-reload, with the old program',
      'restart cpusetd.service, with the old program',
    ]);
    expect(await debian.sh('cat /var/lib/cpusetd/state.json')).toBe('state\n');
  });

  test('purge: nothing is left', async () => {
    await debian.sh('dpkg --purge cpusetd');
    const places = '/etc /var/lib/cpusetd /run/cpusetd /usr/bin /usr/lib/systemd /usr/share /var/lib/systemd';
    expect(await debian.sh(`find ${places} -name "*cpusetd*" 2> /dev/null || true`)).toBe('');
  });

  test('first installation on a node whose kubelet uses a CRI proxy that was installed by hand: the plugin is not started', async () => {
    await asked();
    await debian.sh('echo "reserved-cpus: 0" > /etc/cpusetd.yaml');
    const ofProxy = link.replace('cpusetd.service', 'cpusetd-cri-proxy.service');
    await debian.sh(`mkdir -p $(dirname ${ofProxy}); ln -s x ${ofProxy}`);
    expect(await install('old.deb')).toContain(
      'cpusetd-cri-proxy.service is in use, so cpusetd.service is not enabled',
    );
    expect(await asked()).toEqual(['daemon-reload, with the old program']);
    expect(await isEnabled()).toBe('no\n');
    await debian.sh('dpkg --purge cpusetd');
  });

  test('first installation on a node that has options already: enabled and started', async () => {
    await asked();
    await debian.sh('echo "reserved-cpus: 0" > /etc/cpusetd.yaml');
    await install('old.deb');
    expect(await asked()).toEqual([
      'daemon-reload, with the old program',
      'start cpusetd.service, with the old program',
    ]);
    expect(await isEnabled()).toBe('yes\n');
    expect(await debian.sh('cat /etc/cpusetd.yaml')).toBe('reserved-cpus: 0\n');
  });
});
