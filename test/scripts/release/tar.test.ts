import { execFileSync } from 'node:child_process';
import { loadScript } from '../../support/load-script';

interface Tar {
  packTar(
    entries: readonly { name: string; content?: string; mode?: number; linkTo?: string }[],
    epoch: number,
  ): Promise<Buffer>;
}

let tar: Tar;
beforeAll(async () => {
  tar = await loadScript<Tar>('release/tar.mjs');
});

const link = { name: 'lib', linkTo: 'usr/lib' };
const program = { name: 'usr/bin/program', content: 'x', mode: 0o755 };
const text = { name: 'usr/share/text', content: 'text' };

test('entries are sorted, in folders of their own; all belong to root and have the time of the release', async () => {
  const packed = await tar.packTar([text, program, link], 86_400);
  const listed = execFileSync('tar', ['-tv', '--numeric-owner', '--utc'], { input: packed, encoding: 'utf8' });
  expect(listed.trim().replaceAll(/ +/g, ' ').split('\n')).toEqual([
    'lrwxrwxrwx 0/0 0 1970-01-02 00:00 lib -> usr/lib',
    'drwxr-xr-x 0/0 0 1970-01-02 00:00 usr',
    'drwxr-xr-x 0/0 0 1970-01-02 00:00 usr/bin',
    '-rwxr-xr-x 0/0 1 1970-01-02 00:00 usr/bin/program',
    'drwxr-xr-x 0/0 0 1970-01-02 00:00 usr/share',
    '-rw-r--r-- 0/0 4 1970-01-02 00:00 usr/share/text',
  ]);
});

test('the order in which entries are given changes nothing', async () => {
  const entries = [text, program, link];
  expect(await tar.packTar(entries.toReversed(), 1)).toEqual(await tar.packTar(entries, 1));
});
