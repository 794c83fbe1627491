// npm run publish:image: sends the image of a release to a registry, under the version as its tag.
//
//   npm run publish:image -- --to HOST/NAME [--release DIR] [--plain-http] [--dry-run]
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { check, checkRelease, describeFile, findProgram } from './checks.mjs';
import { checkRegistryLogin } from './credentials.mjs';
import { publish, runCommand } from './publish.mjs';
import { parseRepository } from './repository.mjs';

/** @import { Plan, Request } from './publish.mjs' */

/** @typedef {{ name: string, digest: string, labels: Record<string, string> }} Platform */
/** @typedef {{ digest: string, platforms: Platform[] }} Image */

await publish({
  name: 'image',
  options: { to: { type: 'string', example: 'registry.example.com/group/cpusetd' } },
  plan,
});

/** @param {Request} request @returns {Plan} */
function plan({ root, version, release, values, isPlain }) {
  const { host, repository } = parseRepository('to', values.to ?? '');
  const file = `cpusetd-${version}-image.tar`;
  const path = join(release, file);
  const target = `${repository}:${version}`;
  const image = existsSync(path) ? readImage(path) : undefined;
  const { program, check: hasProgram } = findProgram('skopeo', 'crane');
  const work = mkdtempSync(join(tmpdir(), 'cpusetd-publish-'));
  const head = execFileSync('git', ['rev-parse', 'HEAD'], { cwd: root, encoding: 'utf8' }).trim();
  const digests = join(work, 'digest');
  const layout = join(work, 'layout');
  const skopeo = [
    ...['skopeo', 'copy', '--all', '--preserve-digests', '--digestfile', digests],
    ...(isPlain ? ['--dest-tls-verify=false'] : []),
    ...[`oci-archive:${path}`, `docker://${target}`],
  ];
  const commands =
    program === 'crane'
      ? [
          ['mkdir', layout],
          ['tar', '-xf', path, '-C', layout],
          ['crane', 'push', ...(isPlain ? ['--insecure'] : []), layout, target],
        ]
      : [skopeo];
  return {
    checks: [
      ...checkRelease(release, [file]),
      ...(image === undefined ? [] : image.platforms.flatMap((each) => checkLabels(each, version, head))),
      hasProgram,
      ...(isPlain ? [] : [checkRegistryLogin(host, 'image')]),
    ],
    items:
      image === undefined
        ? []
        : [
            {
              file,
              bytes: describeFile(path).bytes,
              digest: `index ${image.digest}`,
              to: target,
              content: image.platforms.map(({ name, digest }) => `${name}: ${digest}`),
            },
          ],
    commands,
    send() {
      const printed = commands.map((words) => runCommand(words)).at(-1) ?? '';
      const got = program === 'crane' ? printed : readFileSync(digests, 'utf8');
      if (!got.includes(image?.digest ?? '-'))
        throw new Error(`the registry has another digest than the release: ${got.trim()}, not ${image?.digest}`);
    },
    close: () => rmSync(work, { recursive: true }),
  };
}

/** @param {Platform} platform @param {string} version @param {string} head */
function checkLabels({ name, labels }, version, head) {
  const prefix = 'org.opencontainers.image.';
  const [made, revision] = [labels[`${prefix}version`], labels[`${prefix}revision`]];
  return [
    check(
      `the image for ${name} is ${version} of this commit`,
      made === version && revision === head,
      `it is ${made} of ${revision}: check out that commit, or make the release again`,
    ),
  ];
}

/** Reads the index of the archive, and the labels of each image. @param {string} path @returns {Image} */
function readImage(path) {
  /** @param {string} name */
  const readJson = (name) =>
    JSON.parse(execFileSync('tar', ['-xOf', path, name], { encoding: 'utf8', maxBuffer: 2 ** 26 }));
  /** @param {{ digest: string }} descriptor */
  const readBlob = ({ digest }) => readJson(`blobs/${digest.replace(':', '/')}`);
  const [top] = readJson('index.json').manifests;
  const index = readBlob(top);
  /** @type {{ digest: string, platform: { os: string, architecture: string } }[]} */
  const manifests = index.manifests;
  const platforms = manifests.map((each) => ({
    name: `${each.platform.os}/${each.platform.architecture}`,
    digest: each.digest,
    labels: readBlob(readBlob(each).config).config?.Labels ?? {},
  }));
  return { digest: top.digest, platforms };
}
