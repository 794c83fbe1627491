// `npm run docs`: the pages as a site in dist/site, with a search that needs no service. It ends with 1 when a link is
// dead.
//
//   node scripts/docs.mjs [--serve [--port N]]     --serve shows the pages on this machine while they are written
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { build, createServer } from 'vitepress';
import { listDeadLinks } from './docs/check-site.mjs';
import { root, siteConfig, siteFolder } from './docs/site-config.mjs';

const options = /** @type {const} */ ({
  serve: { type: 'boolean', default: false },
  port: { type: 'string', default: '4173' },
});
const { values } = parseArgs({ options });
const source = join(root, 'scripts/docs');
if (values.serve) {
  const server = await createServer(source, { host: 'localhost', port: Number(values.port) });
  await server.listen();
  server.printUrls();
} else {
  await build(source);
  const dead = listDeadLinks(siteFolder, siteConfig.base);
  for (const link of dead) console.error(`dead link: ${link}`);
  if (dead.length > 0) process.exitCode = 1;
  else console.error(`the site is in ${siteFolder}`);
}
