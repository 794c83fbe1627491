import { release, machine, hostname } from 'node:os';
import type { Config, OptionsInForce } from '../../app/config';
import type { Roots } from '../check/collect-facts';
import { packArchive, type ArchivedFile } from './archive';
import { collectReport } from './collect-report';
import { findHostNames } from './kernel';
import type { Missing } from './part';
import { Redactor, type Redaction } from './redact';

/** Largest file of a report, and all of them together, before they are compressed. */
const MAX_FILE_BYTES = 16 * 1024 * 1024;
const MAX_BYTES = 40 * 1024 * 1024;

export interface ReportRequest {
  readonly config: Config;
  readonly inForce: OptionsInForce;
  readonly redaction: Redaction;
  readonly version: string;
  readonly roots: Roots;
  /** The time of the report: its name, and that of its files. */
  readonly at: Date;
}

export interface Report {
  readonly archive: Buffer;
  /** Number of its files, the index included. */
  readonly files: number;
  readonly missing: readonly Missing[];
}

/** `cpusetd-report-20261124T100000Z`: the folder in the archive, and its name. The host is not in it. */
export function nameOfReport(at: Date): string {
  return `cpusetd-report-${at.toISOString().replaceAll(/[-:]|\.\d+/g, '')}`;
}

/** Collects a report, leaves out what is private, and packs it with an index. */
export async function makeReport({ config, inForce, redaction, version, roots, at }: ReportRequest): Promise<Report> {
  const { parts, missing: absent } = await collectReport(config, inForce, roots);
  const hosts = [hostname(), config.nodeName ?? '', ...findHostNames(roots)];
  const redactor = new Redactor(redaction, hosts);
  for (const part of parts) redactor.learn(part);
  const missing = [...absent];
  const files: ArchivedFile[] = [];
  const listed: object[] = [];
  let room = MAX_BYTES;
  for (const part of parts) {
    const { text, note } = redactor.apply(part);
    const bytes = Buffer.byteLength(text);
    if (bytes > Math.min(room, MAX_FILE_BYTES)) {
      missing.push({ name: part.name, because: `it has ${bytes} bytes, and the report would become too large` });
      continue;
    }
    room -= bytes;
    files.push({ name: part.name, text });
    listed.push({ name: part.name, bytes, ...(note !== undefined && { note }) });
  }
  const index = redactor.apply({
    name: 'index.json',
    data: {
      report: 1,
      writtenBy: `cpusetd ${version}`,
      at,
      node: process.version,
      kernel: `${release()} ${machine()}`,
      redaction,
      files: listed,
      missing,
    },
  });
  const archive = await packArchive(nameOfReport(at), [{ name: 'index.json', text: index.text }, ...files], at);
  return { archive, files: files.length + 1, missing };
}
