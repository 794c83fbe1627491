// npm run release: writes all files of a release, from a clean tree, bit by bit the same wherever and whenever it is
// done.
//
//   node scripts/release.mjs [--out DIR] [--only PART,...] [--download-url URL] [--allow-dirty] [--this-node]
//
// DIR is by default dist/release; an earlier release in it is replaced. PART is tarball, deb, krew, chart or image; the
// default is all. URL is the folder that the files will be downloaded from; krew's manifest names it. The time of all
// files is SOURCE_DATE_EPOCH, by default that of the last commit. The Node that builds is the one of the image, since
// the bytes of compressed parts depend on it; --this-node takes the one that runs.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { ensureDependencies } from './ensure-dependencies.mjs';
import { chartName, makeChart } from './release/chart.mjs';
import { debianName, makeDebianPackage } from './release/debian-package.mjs';
import { formatImageSbom, imageArchitectures, makeImage } from './release/image.mjs';
import {
  formatKrewManifest,
  krewArchiveName,
  krewManifestName,
  makeKrewArchive,
  parseDownloadUrl,
} from './release/krew.mjs';
import { ensureNode, nodeProgram, releaseNode } from './release/node-programs.mjs';
import { makePayload } from './release/payload.mjs';
import { makeTarball } from './release/tarball.mjs';
import { messageOf } from './shared/errors.mjs';
import { withHeartbeat } from './shared/heartbeat.mjs';
import { logToStderr as log } from './shared/log.mjs';
import { runChild } from './shared/run-child.mjs';

const root = fileURLToPath(new URL('..', import.meta.url)).replace(/\/$/, '');
const parts = ['tarball', 'deb', 'krew', 'chart', 'image'];
/** @param {string[]} args */
const git = (...args) => execFileSync('git', args, { cwd: root, encoding: 'utf8' });

try {
  const { values } = parseArgs({
    options: {
      out: { type: 'string', default: join(root, 'dist/release') },
      only: { type: 'string', default: parts.join() },
      'download-url': { type: 'string' },
      'allow-dirty': { type: 'boolean', default: false },
      'this-node': { type: 'boolean', default: false },
    },
  });
  const wanted = values.only.split(',');
  const unknown = wanted.filter((part) => !parts.includes(part));
  if (unknown.length > 0) throw new Error(`--only knows ${parts.join(', ')}, not ${unknown.join(', ')}`);
  const url = values['download-url'];
  const downloadUrl = url === undefined ? undefined : parseDownloadUrl(url);
  if (!values['allow-dirty']) refuseDirtyTree();
  ensureDependencies(root);
  if (values['this-node'] || process.version === `v${releaseNode}`)
    await release(resolve(values.out), wanted, downloadUrl);
  else process.exitCode = await runWithReleaseNode();
} catch (error) {
  console.error(`release: ${messageOf(error)}`);
  process.exitCode = 1;
}

/** Throws when something is not committed: nobody could make that release again. */
function refuseDirtyTree() {
  const changed = git('status', '--porcelain').trimEnd();
  if (changed === '') return;
  throw new Error(`the tree is not clean; commit this, or give --allow-dirty for a trial:\n${changed}`);
}

async function runWithReleaseNode() {
  const node = nodeProgram(ensureNode(releaseNode, { log }));
  const { status } = await runChild(node, process.argv.slice(1), { cwd: process.cwd() });
  return status ?? 1;
}

/** @param {string} out @param {string[]} wanted @param {string | undefined} downloadUrl */
async function release(out, wanted, downloadUrl) {
  const isEarlier = existsSync(join(out, 'SHA256SUMS'));
  if (!isEarlier && existsSync(out) && readdirSync(out).length > 0)
    throw new Error(`${out} has something else than a release: remove it, or give another --out`);
  const epoch = Number(process.env.SOURCE_DATE_EPOCH ?? git('log', '-1', '--format=%ct'));
  if (!Number.isSafeInteger(epoch) || epoch <= 0) throw new Error('SOURCE_DATE_EPOCH is no number of seconds');
  log('release: bundling the program, with its man page, completions and bill of materials ...');
  const payload = await withHeartbeat('release: bundling', () => makePayload(root, epoch));
  const { version } = payload;
  /** @type {Map<string, Buffer | string>} */
  const files = new Map([[`cpusetd-${version}.cdx.json`, payload.sbom]]);
  /** @param {string} part @param {string} name */
  const isWanted = (part, name) => {
    if (!wanted.includes(part)) return false;
    log(`release: making ${name} ...`);
    return true;
  };
  if (isWanted('tarball', 'the tarball')) files.set(`cpusetd-${version}.tar.gz`, await makeTarball(payload));
  if (isWanted('deb', 'the Debian package')) files.set(debianName(version), makeDebianPackage(payload));
  if (isWanted('krew', 'the archive of the plugin')) {
    const archive = await makeKrewArchive(payload);
    files.set(krewArchiveName(version), archive);
    if (downloadUrl !== undefined) files.set(krewManifestName, formatKrewManifest(version, archive, downloadUrl));
    else
      log(`${krewManifestName} is not written: krew wants the address of the archive, and --download-url is not given`);
  }
  if (isWanted('chart', 'the chart')) files.set(chartName(version), await makeChart(root, epoch));
  if (isWanted('image', `the image for ${imageArchitectures.join(' and ')}`)) {
    const options = {
      architectures: imageArchitectures,
      revision: git('rev-parse', 'HEAD').trim(),
      name: `localhost/cpusetd:${version}`,
      log,
    };
    files.set(
      `cpusetd-${version}-image.tar`,
      await withHeartbeat('release: the image', () => makeImage(payload, options)),
    );
    for (const arch of imageArchitectures)
      files.set(`cpusetd-${version}-image-${arch}.cdx.json`, await formatImageSbom(payload, arch));
  }
  const sums = [...files].map(([name, content]) => `${createHash('sha256').update(content).digest('hex')}  ${name}\n`);
  files.set('SHA256SUMS', sums.sort((a, b) => (a.slice(66) < b.slice(66) ? -1 : 1)).join(''));
  if (isEarlier) rmSync(out, { recursive: true });
  mkdirSync(out, { recursive: true });
  for (const [name, content] of files) writeFileSync(join(out, name), content);
  for (const [name, content] of files) log(`${join(out, name)}: ${Buffer.byteLength(content)} bytes`);
}
