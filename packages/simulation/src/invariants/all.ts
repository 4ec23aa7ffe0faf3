import { deletedLast, goesOnAlone, leaseBeats, mirrors, newestIsShown, terminalIsShownLate } from './cluster.ts';
import { backOff, gracefulStop, initOrder, oneOfAName, restartPolicies, sidecarOrder } from './containers.ts';
import { convergence, staticsRunAlone } from './convergence.ts';
import { deadlinesAreKept, deadlinesAreReached } from './deadlines.ts';
import { graceIsKept } from './deletions.ts';
import {
  devicesAreEnough,
  devicesAreOnes,
  devicesStay,
  holdersAreOnes,
  pluginsHangAlone,
  refusedForLackOfDevices,
  refusedInWords,
} from './devices.ts';
import { disksHangAlone, disksInOrder } from './disks.ts';
import {
  deletionsKeepTheirEnd,
  endedIsNotWaitedFor,
  endingIsProbed,
  preStopRunsOnce,
  unreadyIsShown,
} from './endings.ts';
import {
  evictions,
  lackIsMet,
  pressureHolds,
  pressureIsShown,
  refusedUnderPressure,
  softGraceIsKept,
} from './evictions.ts';
import { groupsGoBeforeObjects, groupsGoLast } from './groups.ts';
import { hooksComeFirst, hooksEndTheirs, hooksHangAlone, hooksHideTheirs, hooksRunOnce } from './hooks.ts';
import type { Invariant } from './invariant.ts';
import { hangsAlone, nothingIsKept, outsideStays, promptStart, runtimeIsReported, uidsStay } from './node.ts';
import { objectsAreWhole, objectsFirst } from './objects.ts';
import { oneAtATime, oneOfAFullName, oneWay, orphansNeverStart, uidsAreFreed } from './pods.ts';
import { probesKeepTime, startupComesFirst, thresholdsCount } from './probes.ts';
import { endedAreShown, foreignConditionsStay, readyHasCause, readyIsAllReady } from './readiness.ts';
import { ephemeralRunsOnce, grantsFit, refusedForLack, runningIsAdmitted } from './resources.ts';
import {
  endedInWords,
  graceIsTheLesser,
  groupsTakeTurns,
  locksAreHeld,
  newsIsHeard,
  noneBegins,
  notReadyIsShown,
  refusedWhileItLasts,
  waitsNoLonger,
} from './shutdowns.ts';
import { statusesAreOwn, terminalIsStopped, terminalStays, versionsGrow } from './statuses.ts';
import {
  lastGood,
  noNeedlessStop,
  sourcesFirst,
  survivesApiServer,
  survivesKubelet,
  survivesRuntime,
  unknownIsKnownLate,
} from './stops.ts';

/** All checked invariants, in the order in which they judge an observation. */
export const allInvariants: readonly Invariant[] = [
  oneWay,
  oneAtATime,
  uidsAreFreed,
  oneOfAFullName,
  unknownIsKnownLate,
  orphansNeverStart,
  oneOfAName,
  backOff,
  initOrder,
  sidecarOrder,
  gracefulStop,
  graceIsKept,
  deletionsKeepTheirEnd,
  endedIsNotWaitedFor,
  preStopRunsOnce,
  hooksRunOnce,
  hooksComeFirst,
  hooksEndTheirs,
  hooksHideTheirs,
  restartPolicies,
  deadlinesAreKept,
  deadlinesAreReached,
  noNeedlessStop,
  promptStart,
  hangsAlone,
  hooksHangAlone,
  outsideStays,
  terminalStays,
  terminalIsStopped,
  versionsGrow,
  statusesAreOwn,
  sourcesFirst,
  lastGood,
  uidsStay,
  survivesKubelet,
  survivesRuntime,
  survivesApiServer,
  runtimeIsReported,
  nothingIsKept,
  terminalIsShownLate,
  deletedLast,
  mirrors,
  newestIsShown,
  foreignConditionsStay,
  readyHasCause,
  readyIsAllReady,
  endedAreShown,
  goesOnAlone,
  staticsRunAlone,
  leaseBeats,
  objectsFirst,
  objectsAreWhole,
  startupComesFirst,
  endingIsProbed,
  unreadyIsShown,
  thresholdsCount,
  probesKeepTime,
  grantsFit,
  runningIsAdmitted,
  refusedForLack,
  evictions,
  lackIsMet,
  softGraceIsKept,
  pressureHolds,
  pressureIsShown,
  refusedUnderPressure,
  groupsGoLast,
  groupsGoBeforeObjects,
  disksInOrder,
  disksHangAlone,
  ephemeralRunsOnce,
  devicesAreOnes,
  holdersAreOnes,
  devicesAreEnough,
  devicesStay,
  refusedInWords,
  refusedForLackOfDevices,
  pluginsHangAlone,
  noneBegins,
  refusedWhileItLasts,
  groupsTakeTurns,
  graceIsTheLesser,
  endedInWords,
  locksAreHeld,
  waitsNoLonger,
  newsIsHeard,
  notReadyIsShown,
  convergence,
];
