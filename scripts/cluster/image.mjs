// The image of a release, as clusters of tests run it.
//
//   node scripts/cluster/image.mjs ARCHIVE [amd64] [arm64]     writes the image, named localhost/cpusetd:test, by default for this machine
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { imageArchitectures, makeImage } from '../release/image.mjs';
import { makePayload } from '../release/payload.mjs';
import { ensureImageBase, ownArchitecture } from './image-parts.mjs';

const imageName = 'localhost/cpusetd:test';
const project = fileURLToPath(new URL('../..', import.meta.url));

const payload = await makePayload(project, 0);
const wanted = imageArchitectures.filter((arch) => process.argv.slice(3).includes(arch));
const architectures = wanted.length > 0 ? wanted : [ownArchitecture];
const options = { architectures, revision: 'none', name: imageName, isCompressed: false };
const base = ensureImageBase(architectures);
writeFileSync(process.argv[2] ?? 'image.tar', await makeImage(payload, { ...options, ...base }));
