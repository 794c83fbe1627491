// The image of a release, as clusters of tests run it.
//
// node scripts/cluster/image.mjs ARCHIVE [amd64] [arm64] [--name NAME] writes the image, by default for this machine
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { imageArchitectures, makeImage } from '../release/image.mjs';
import { makePayload } from '../release/payload.mjs';
import { ensureImageBase, ownArchitecture } from './image-parts.mjs';

const { values, positionals } = parseArgs({
  options: { name: { type: 'string', default: 'localhost/cpusetd:test' } },
  allowPositionals: true,
});
const [archive = 'image.tar', ...chosen] = positionals;
const project = fileURLToPath(new URL('../..', import.meta.url));

const payload = await makePayload(project, 0);
const wanted = imageArchitectures.filter((arch) => chosen.includes(arch));
const architectures = wanted.length > 0 ? wanted : [ownArchitecture];
const options = { architectures, revision: 'none', name: values.name, isCompressed: false };
const base = ensureImageBase(architectures);
writeFileSync(archive, await makeImage(payload, { ...options, ...base }));
