export default async function tearDownCluster(): Promise<void> {
  await globalThis.controlPlaneOfTests?.stop();
}
