import type { Suite } from './rig';

/** Facts about the suite on one runtime. */
export interface SuiteKind {
  /** The tests that are not run, and the reason of each. */
  readonly excluded: ReadonlyMap<string, string>;
  /**
   * The tests in which a plugin of the suite sets CPUs, with their verdicts directly, through the proxy and beside the
   * plugin. Beside the plugin, CPUs that the other one sets before cpusetd are part of the request, and kept; what it
   * sets later is repaired as drift.
   */
  readonly settingCpus: Readonly<Record<string, readonly ('PASS' | 'FAIL')[]>>;
  /** The lowest number of tests and subtests that pass directly on the runtime. */
  readonly leastPassed: number;
  /** The cgroup that the runtime makes for pods without one, as those of the suite. */
  readonly cgroup: string;
  /** Settings of the images of the suite. */
  readonly imageSettings: object;
}

/** Names of tests, by the reason for which they are not run. */
type Reasons = Readonly<Record<string, readonly string[]>>;

const byName = (...reasons: readonly Reasons[]): ReadonlyMap<string, string> =>
  new Map(
    reasons.flatMap(Object.entries).flatMap(([why, names]: [string, string[]]) => names.map((name) => [name, why])),
  );

/** The tests that run nowhere here. */
const nowhere: Reasons = {
  'starts a containerd of its own, and does not use the endpoint': [
    'TestContainerCgroupWritable',
    'TestRunContainerWithVolatileOption',
    'TestIssue10244LoopbackV2',
    'TestIssue10467',
    'TestOOMEventMonitor',
    'TestUpgrade',
    'TestReload100Pods',
    'TestRuntimeHandlerUnpackWithSnapshotLabels',
  ],
  'ends containerd by its name': [
    'TestUpdatePodSandboxWithRestart',
    'TestNriPluginContainerdRestart',
    'TestContainerdRestartSandboxRecover',
    'TestContainerdRestart',
    'TestSandboxStopWithNilCNIResult',
    'TestRunPodSandboxWithShimDeleteFailure',
    'TestRunPodSandboxWithShimStartAndTeardownCNIFailure',
    'TestRunPodSandboxAndTeardownCNISlow',
  ],
  'needs the shim with failpoints, which is not part of a release': [
    'TestRunPodSandboxWithSetupCNIFailure',
    'TestRunPodSandboxWithShimStartFailure',
    'TestIssue7496_ShouldRetryShutdown',
    'TestPodSandboxController_ShouldBackoffExitEventWhenFail',
  ],
  'pulls from registries': [
    'TestContainerdImage',
    'TestContainerdImageInOtherNamespaces',
    'TestContainerdSandboxImagePulledOutsideCRI',
    'TestCRIImagePullTimeout',
    'TestImageLoad',
    'TestImageVolumeBasic',
    'TestImageVolumeReusableAfterFailure',
    'TestImageVolumeCheckVolatileOption',
    'TestImageVolumeSetupIfContainerdRestarts',
    'TestKillShimPreservesExitStatusForMultipleContainers',
  ],
  'waits three minutes for a sleep that the busybox of Debian does not know': ['TestContainerDrainExecIOAfterExit'],
  'needs lsof, and waits a minute for it': ['TestContainerTTYLeakAfterExit'],
  'needs strace': ['TestIssue7496'],
  'differs between runs: it stops a shell that may not have set its trap yet': [
    'TestContainerStopSignals',
    'TestContainerStopCancellation',
  ],
  'needs an image with a program that uses memory': ['TestContainerConsumedStats'],
};

/** The tests that run on containerd only. */
const notOnCrio: Reasons = {
  "talks to containerd's shim": [
    'TestContainerIOLeakAfterStartFailed',
    'TestKillShimPublishesTaskExitAndDeleteEvents',
    'TestKillShimPublishesTaskExitAndDeleteEventsForContainer',
    'TestShutdownShimWhenPauseExitsBeforeWorkload',
  ],
  "uses containerd's own API": [
    'TestContainerdSandboxImage',
    'TestUpdateContainerResources_MemoryLimit',
    'TestUpdateContainerResources_MemorySwap',
  ],
  "reads the configuration of containerd from the runtime's status": [
    'TestLongContainerLog',
    'TestSandboxRemoveWithoutIPLeakage',
  ],
  "tests containerd's code that connects to shims, and does not use the endpoint": ['TestFailFastWhenConnectShim'],
  'differs between runs: it prints a line in two writes, which conmon may log apart': ['TestPodHostname'],
  'expects SIGTERM as stop signal, and the images for CRI-O have SIGKILL': ['TestDefaultContainerStopSignal'],
};

const containerd: SuiteKind = {
  excluded: byName(nowhere),
  settingCpus: {
    TestNriLinuxCpusetAdjustment: ['PASS', 'FAIL', 'PASS'],
    TestNriLinuxCpusetAdjustmentUpdate: ['PASS', 'FAIL', 'FAIL'],
  },
  leastPassed: 60,
  cgroup: 'k8s.io',
  imageSettings: {},
};

const crio: SuiteKind = {
  excluded: byName(nowhere, notOnCrio),
  // The other test knows containers by a name that CRI-O takes from labels of the kubelet.
  settingCpus: { TestNriLinuxCpusetAdjustment: ['PASS', 'FAIL', 'PASS'] },
  leastPassed: 30,
  cgroup: 'crio',
  // CRI-O's StopPodSandbox waits up to a minute for containers to end, and the shell and the sleep of the suite ignore
  // SIGTERM.
  imageSettings: { StopSignal: 'SIGKILL' },
};

/** The suite on the runtime. */
export const suiteKindOf = (suite: Suite): SuiteKind => (suite === 'crio' ? crio : containerd);
