// npm run publish:plugin: sends the archive of the plugin to where its manifest says that it is, and the manifest to an
// index of krew.
//
//   npm run publish:plugin -- --index GIT_URL [--upload-to URL] [--release DIR] [--plain-http] [--dry-run]
//
// An index is a git repository with a file for each plugin. The manifest is pushed to a branch of its own, for a pull
// request. Without --upload-to the archive has to be at its address already. With it curl puts the archive into that
// folder (HTTP PUT), with a login of ~/.netrc.
import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { krewArchiveName, krewManifestName, parseDownloadUrl } from '../release/krew.mjs';
import { check, checkRelease, describeFile, findProgram } from './checks.mjs';
import { checkNetrc } from './credentials.mjs';
import { publish, runCommand, UsageError } from './publish.mjs';

/** @import { Check } from './checks.mjs' */
/** @import { Plan, Request } from './publish.mjs' */

await publish({
  name: 'plugin',
  options: {
    index: { type: 'string', example: 'ssh://git@git.example.com/krew-index.git' },
    'upload-to': { type: 'string', example: 'https://files.example.com/cpusetd/0.1.0', isOptional: true },
  },
  plan,
});

/** @param {Request} request @returns {Plan} */
function plan({ version, release, values, isPlain }) {
  const [archive, manifest] = [krewArchiveName(version), krewManifestName];
  const [archivePath, manifestPath] = [join(release, archive), join(release, manifest)];
  const { index = '', 'upload-to': uploadTo } = values;
  const upload = uploadTo === undefined ? undefined : parseUpload(uploadTo);
  const isThere = [archivePath, manifestPath].every((path) => existsSync(path));
  const said = isThere ? readManifest(manifestPath) : { version: '', uri: '', sha256: '' };
  const { sha256, bytes } = isThere ? describeFile(archivePath) : { sha256: '', bytes: 0 };
  const branch = `cpuset-v${version}`;
  const work = mkdtempSync(join(tmpdir(), 'cpusetd-publish-'));
  const clone = join(work, 'index');
  const file = join('plugins', manifest);
  const put = upload && ['curl', '--fail-with-body', '--silent', '--show-error', '--netrc-optional', '--upload-file'];
  const uploads = put ? [[...put, archivePath, `${upload}${archive}`]] : [];
  const pushes = [
    ['git', 'clone', '--quiet', '--depth', '1', index, clone],
    ['git', '-C', clone, 'switch', '--quiet', '--create', branch],
    ['git', '-C', clone, 'add', file],
    ['git', '-C', clone, 'commit', '--quiet', '--message', `cpuset v${version}`],
    ['git', '-C', clone, 'push', '--quiet', 'origin', branch],
  ];
  return {
    checks: [
      ...checkRelease(release, [archive, manifest]),
      ...(isThere ? checkManifest(said, { version, archive, sha256, isPlain }) : []),
      findProgram('git').check,
      ...(upload === undefined ? [] : [findProgram('curl').check]),
      ...(upload === undefined || isPlain ? [] : [checkNetrc(new URL(upload).hostname)]),
    ],
    items: isThere
      ? [
          {
            file: archive,
            bytes,
            digest: `sha256:${sha256}`,
            to: upload === undefined ? `${said.uri}: it has to be there already` : `${upload}${archive}`,
          },
          {
            file: manifest,
            bytes: describeFile(manifestPath).bytes,
            digest: `sha256:${describeFile(manifestPath).sha256}`,
            to: `${index}, branch ${branch}, ${file}`,
          },
        ]
      : [],
    commands: [...uploads, ...pushes],
    async send() {
      for (const words of uploads) runCommand(words);
      await compareServed(said.uri, sha256);
      const [first = [], ...others] = pushes;
      runCommand(first);
      mkdirSync(join(clone, 'plugins'), { recursive: true });
      copyFileSync(manifestPath, join(clone, file));
      for (const words of others) runCommand(words);
    },
    close: () => rmSync(work, { recursive: true }),
  };
}

/** @param {string} text */
function parseUpload(text) {
  try {
    return parseDownloadUrl(text);
  } catch {
    throw new UsageError(`--upload-to ${text} is not the http or https address of a folder`);
  }
}

/** @param {string} path */
function readManifest(path) {
  const { spec } = parse(readFileSync(path, 'utf8'));
  const [{ uri, sha256 }] = spec.platforms;
  return { version: String(spec.version), uri: String(uri), sha256: String(sha256) };
}

/**
 * @param {{ version: string, uri: string, sha256: string }} said what the manifest says
 * @param {{ version: string, archive: string, sha256: string, isPlain: boolean }} wanted
 * @returns {Check[]}
 */
function checkManifest(said, { version, archive, sha256, isPlain }) {
  const again = 'make the release again, with --download-url of the folder that users download from';
  const url = new URL(said.uri);
  const isPublic = url.protocol === 'https:' && !url.hostname.endsWith('.invalid');
  return [
    check(
      `the manifest has the version v${version}`,
      said.version === `v${version}`,
      `it has ${said.version}; ${again}`,
    ),
    check('the manifest has the checksum of the archive', said.sha256 === sha256, again),
    check(
      `the manifest has an address that ends with ${archive}`,
      url.pathname.endsWith(`/${archive}`) && (isPublic || isPlain),
      `it has ${said.uri}; ${again}`,
    ),
  ];
}

/** Downloads the archive as krew will. @param {string} uri @param {string} sha256 */
async function compareServed(uri, sha256) {
  const answer = await fetch(uri);
  if (!answer.ok)
    throw new Error(`${uri} answers ${answer.status}: send the archive there first, by hand or with --upload-to`);
  const got = createHash('sha256')
    .update(Buffer.from(await answer.arrayBuffer()))
    .digest('hex');
  if (got !== sha256) throw new Error(`${uri} has another file than the release: sha256 ${got}, not ${sha256}`);
}
