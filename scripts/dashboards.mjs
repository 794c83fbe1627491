// Writes deploy/grafana/ from scripts/dashboards. With --check it fails when the committed files differ.
import { readFileSync, writeFileSync } from 'node:fs';
import { buildFleet } from './dashboards/fleet.mjs';
import { buildNode } from './dashboards/node.mjs';

const check = process.argv.includes('--check');

for (const [name, dashboard] of Object.entries({ fleet: buildFleet(), node: buildNode() })) {
  const file = new URL(`../deploy/grafana/${name}.json`, import.meta.url);
  // Panels are numbered in their order, so that links to them stay.
  const panels = (dashboard.panels ?? []).map((panel, i) => ({ ...panel, id: i + 1 }));
  const text = `${JSON.stringify({ ...dashboard, panels }, null, 2)}\n`;
  if (!check) writeFileSync(file, text);
  else if (readFileSync(file, 'utf8') !== text) {
    console.error(`deploy/grafana/${name}.json differs from what scripts/dashboards makes. Run: npm run dashboards`);
    process.exitCode = 1;
  }
}
