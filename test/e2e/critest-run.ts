import { cpSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { addPodNetwork, runInside, testFolder } from './cri-tests-inside';
import type { Close, CriTests, TestResults } from './cri-tests-three-runs';
import { serveImages } from './critest-images';
import { critestKindOf } from './critest-kinds';
import type { Runtime } from './rig';

const program = 'critest';
const report = 'report.json';
const limitMinutes = 9;

/** A test in ginkgo's report. */
interface Spec {
  readonly ContainerHierarchyTexts: readonly string[] | null;
  readonly LeafNodeType: string;
  readonly LeafNodeText: string;
  readonly State: string;
  readonly CapturedGinkgoWriterOutput?: string;
  readonly Failure?: {
    readonly Message: string;
    readonly Location: { readonly FileName: string; readonly LineNumber: number };
  };
}

/** Makes critest of cri-tools ready on a runtime that was started with a network of its own. */
export async function prepareCritest(
  runtime: Runtime,
  programDir: string,
  onClose: (close: Close) => void,
): Promise<CriTests> {
  const onHost = join(runtime.work, testFolder);
  mkdirSync(onHost);
  cpSync(join(programDir, program), join(onHost, program));
  await serveImages(runtime, onClose);
  await addPodNetwork(runtime);
  return { run: () => runCritest(runtime) };
}

/**
 * Runs the suite in an order that is the same each time. A test that fails has a second try, which counts: some wait a
 * fixed second for what takes longer on a machine that is busy.
 */
async function runCritest(runtime: Runtime): Promise<TestResults> {
  const notRun = [...critestKindOf(runtime.suite).notRun.keys()];
  const endpoint = `unix://${runtime.criSocketInside}`;
  const args = [
    ...['-runtime-endpoint', endpoint, '-image-endpoint', endpoint, '-nri-socket', '/run/nri/nri.sock'],
    ...['-ginkgo.seed', '1', '-ginkgo.flake-attempts', '2', '-ginkgo.timeout', `${limitMinutes}m`],
    ...notRun.flatMap((name) => ['-ginkgo.skip', name]),
    ...['-ginkgo.json-report', join(testFolder, report), '-ginkgo.succinct', '-ginkgo.no-color'],
  ];
  // It fails when a test does, which the report tells.
  const failure = await runInside(runtime, program, args).catch((error: unknown) => error);
  const reportOnHost = join(runtime.work, testFolder, report);
  if (!existsSync(reportOnHost)) throw new Error('critest wrote no report', { cause: failure });
  const suites = JSON.parse(readFileSync(reportOnHost, 'utf8')) as readonly {
    readonly SpecReports: readonly Spec[];
  }[];
  const listed = suites
    .flatMap(({ SpecReports }) => SpecReports)
    .filter(({ LeafNodeType }) => LeafNodeType === 'It')
    .map((spec) => [nameOf(spec), spec] as const);
  const unknown = notRun.filter((part) => !listed.some(([name]) => name.includes(part)));
  if (unknown.length > 0) throw new Error(`critest has no test ${unknown.join(', no ')}`);
  const excluded = ['benchmark', ...notRun];
  const specs = new Map(listed.filter(([name]) => !excluded.some((part) => name.includes(part))));
  return {
    verdicts: new Map([...specs].map(([name, spec]) => [name, verdictOf(spec)])),
    outputOf: (name) => {
      const { Failure, CapturedGinkgoWriterOutput } = specs.get(name) ?? {};
      return [Failure?.Message, CapturedGinkgoWriterOutput].join('\n');
    },
  };
}

const nameOf = ({ ContainerHierarchyTexts, LeafNodeText }: Spec): string =>
  [...(ContainerHierarchyTexts ?? []), LeafNodeText].join(' ');

/** The state, for a failure with the line of the suite that failed. */
function verdictOf({ State, Failure }: Spec): string {
  if (State !== 'failed' || Failure === undefined) return State;
  const { FileName, LineNumber } = Failure.Location;
  return `failed ${FileName.split('/').at(-1)}:${LineNumber}`;
}
