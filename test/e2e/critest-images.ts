import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { suiteKindOf } from './cri-suite-kinds';
import type { Close } from './cri-tests-three-runs';
import { projectRoot } from './rig/project-root';
import type { Runtime } from './rig';

interface Image {
  readonly name: string;
  readonly entries?: readonly {
    readonly name: string;
    readonly mode?: number;
    readonly type?: string;
    readonly content?: string;
  }[];
  readonly settings?: object;
}

const textOf = (name: string, content: string) => ({ name, content });
const scriptOf = (name: string, ...lines: readonly string[]) => ({
  name: `bin/${name}`,
  mode: 0o755,
  content: ['#!/bin/sh', ...lines, ''].join('\n'),
});
const folderOf = (name: string) => ({ name, type: '5', mode: 0o755 });

/**
 * Prints the name of the program for the log, leaves its process id where nginx does, and answers each request with a
 * page.
 */
const webServer = (name: string, port: number) => [
  ...['var/', 'var/run/', 'www/'].map(folderOf),
  textOf('www/index.html', 'welcome\n'),
  scriptOf(name, `echo ${name} starts`, `echo $$ > /var/run/${name}.pid`, `busybox httpd -f -p ${port} -h /www`),
];
const webImage = (name: string, program: string, port: number): Image => ({
  name,
  entries: webServer(program, port),
  settings: { Entrypoint: [`/bin/${program}`, 'master process'] },
});
const testImage = (name: string, image: Omit<Image, 'name'> = {}): Image => ({
  name: `k8s-staging-cri-tools/test-image-${name}`,
  entries: [textOf('etc/image', name)],
  ...image,
});

/**
 * Its user is in a group of the image. The busybox of Debian does not know `sleep infinity`, with which the test waits.
 */
const predefinedGroup: Omit<Image, 'name'> = {
  entries: [
    textOf('etc/passwd', 'root:x:0:0::/:/bin/sh\ndefault-user:x:1000:1000::/:/bin/sh\n'),
    textOf('etc/group', 'root:x:0:\ndefault-user:x:1000:\ngroup-defined-in-image:x:50000:default-user\n'),
    scriptOf('sleep', 'exec busybox sleep 2147483647'),
  ],
  settings: { User: '1000' },
};

/**
 * Names that the suite expects of its busybox, and commands that the busybox of Debian does not have, or not as a file
 * of their own.
 */
const busybox = [
  textOf('etc/passwd', 'root:x:0:0::/root:/bin/sh\nnobody:x:65534:65534::/home:/bin/false\n'),
  textOf('etc/group', 'root:x:0:\nnobody:x:65534:\n'),
  // The first process is that of the pod, which is a sleep too.
  scriptOf('pgrep', 'for pid in $(pidof "$@"); do [ "$pid" = 1 ] || echo "$pid"; done'),
  scriptOf('ipcs', 'exec cat /proc/sysvipc/shm'),
  scriptOf('ls', 'exec busybox ls "$@"'),
];

/**
 * The images that critest pulls, by the names that it has for them in its registries. They have what its tests need of
 * them. Not here are one that it names by its digest, and one with a program that has the set-user-ID bit.
 */
const images: readonly Image[] = [
  { name: 'e2e-test-images/busybox:1.29-2', entries: busybox },
  webImage('e2e-test-images/nginx:1.14-2', 'nginx', 80),
  webImage('e2e-test-images/httpd:2.4.39-4', 'httpd', 80),
  webImage(
    `k8s-staging-cri-tools/hostnet-nginx-${process.arch === 'x64' ? 'amd64' : process.arch}:latest`,
    'nginx',
    12_003,
  ),
  { name: 'pause:3.9', entries: [textOf('etc/image', 'pause')] },
  testImage('latest:latest'),
  ...['test', 'all'].map((tag) => testImage(`tag:${tag}`)),
  ...['1', '2', '3'].map((number) => testImage(`${number}:latest`)),
  ...['1', '2', '3'].map((tag) => testImage(`tags:${tag}`, { entries: [textOf('etc/image', 'tags')] })),
  ...Object.entries({
    'user-uid': '1002',
    'user-username': 'www-data',
    'user-uid-group': '1003:users',
    'user-username-group': 'www-data:100',
  }).map(([name, User]) => testImage(`${name}:latest`, { settings: { User } })),
  testImage('predefined-group:latest', predefinedGroup),
];

/** The folder of the mirrors of registries, in the runtime's `run`. */
const mirrors = 'registries';

/**
 * Lets the runtime, which has a network of its own, pull the images of critest by their names, until the end of the
 * tests.
 */
export async function serveImages(runtime: Runtime, onClose: (close: Close) => void): Promise<void> {
  const list = join(runtime.work, 'run/critest-images.json');
  const { imageSettings } = suiteKindOf(runtime.suite);
  const withSettings = images.map((image) => ({ ...image, settings: { ...imageSettings, ...image.settings } }));
  writeFileSync(list, JSON.stringify(withSettings));
  const { namespacePid } = runtime;
  const busybox = `/proc/${namespacePid}/root/usr/bin/busybox`;
  const script = join(projectRoot(), 'scripts/runtime/image-registry.mjs');
  const registry = spawn(
    'nsenter',
    [`--net=/proc/${namespacePid}/ns/net`, '--', process.execPath, script, busybox, list],
    { stdio: ['pipe', 'pipe', 'inherit'] },
  );
  onClose(async () => {
    registry.stdin.end();
    if (registry.exitCode === null && registry.signalCode === null) await once(registry, 'exit');
  });
  const port = await Promise.race([once(registry.stdout, 'data'), once(registry, 'exit').then(() => undefined)]);
  if (port === undefined) throw new Error('the registry of images has ended');
  await addMirror(runtime, `127.0.0.1:${String(port[0]).trim()}`);
}

/** Makes the registry a mirror of all others. */
async function addMirror(runtime: Runtime, registry: string): Promise<void> {
  const folder = join(runtime.work, 'run', mirrors);
  mkdirSync(join(folder, '_default'), { recursive: true });
  const hosts = `server = 'http://${registry}'\n[host.'http://${registry}']\n  capabilities = ['pull', 'resolve']\n`;
  writeFileSync(join(folder, '_default/hosts.toml'), hosts);
  const crio = `[[registry]]\nprefix = '*.io'\n[[registry.mirror]]\nlocation = '${registry}'\ninsecure = true\n`;
  writeFileSync(join(folder, 'mirror.conf'), crio);
  if (runtime.suite !== 'crio') return; // containerd reads the file at each pull
  await runtime.kill();
  await runtime.start();
}
