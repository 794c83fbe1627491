/** Turns the content of a document of one version into that of the next. Pure; gets what the checksum has vouched for. */
export type Migration = (content: Readonly<Record<string, unknown>>) => Readonly<Record<string, unknown>>;

/** `MIGRATIONS[n - 1]` leads from version n to version n + 1. */
const MIGRATIONS: readonly Migration[] = [
  // 2 has more kinds of assignments. What 1 has means the same; but a cpusetd of 1 would not know what 2 has.
  (content) => content,
];

/** Applies, one after the other, the steps that lead from the given version to the present one. */
export function migrate(
  content: Readonly<Record<string, unknown>>,
  version: number,
  migrations: readonly Migration[] = MIGRATIONS,
): Readonly<Record<string, unknown>> {
  return migrations.slice(version - 1).reduce((migrated, step) => step(migrated), content);
}
