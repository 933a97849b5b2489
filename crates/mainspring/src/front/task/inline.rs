//! A task, whose closure lies where the task is kept, if it is small: the unsafe code of the fronts.
//!
//! ```text
//!   48 bytes:   [ kind | five words: the closure, or a box of it ]      in a queue's record of 64: one line of memory
//!                  |
//!   for each type of closure, and for wakers, once:   run (takes it out), drop
//! ```
//!
//! A `Box<dyn FnOnce>` would be safe, and its allocation and its line of memory are half of what a timer
//! costs: freeing it touches memory that nothing else has touched since. Crates for such closures
//! (`smallbox`, `stack_dst`) keep a `dyn FnOnce` behind two words, one of which says where it lies, and give
//! no way to replace a waker in place.
//!
//! Cost: a move of up to five words to make one, an indirect call to run or drop it; an allocation for a
//! closure that is larger or stricter aligned.
//!
//! It does not know when it runs: queues and drivers do.

use std::fmt;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::task::Waker;

use super::firing::Firing;

/// How many words lie in place. Five and the kind are what is left of a line of memory beside a queue's own
/// 16 bytes.
const WORD_COUNT: usize = 5;

/// The words of a closure or a waker.
type Words = MaybeUninit<[usize; WORD_COUNT]>;

/// A closure that runs once, on the driver's thread, with no lock held.
///
/// ```
/// use mainspring::{Firing, Task, Tick};
///
/// let task = Task::new(|firing| println!("due at {}, runs at {}", firing.deadline, firing.now));
/// task.run(Firing::new(Tick::new(3), Tick::new(4)));
/// ```
pub struct Task {
    /// Of the type of what `words` holds: an initialized, aligned value of that type, from `keep` until `run`
    /// or `drop`. Never null, so an `Option` takes no more room.
    kind: &'static Kind,
    words: Words,
}

#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<Option<Task>>() == 48);

/// What is done with a kept value of one type, given where it lies.
///
/// # Safety
/// Both functions take the value out. Either may be called if
/// - an initialized value of the kind's type lies there, aligned, and
/// - the caller does not use it again.
struct Kind {
    run: unsafe fn(*mut Words, Firing),
    drop: unsafe fn(*mut Words),
    nature: Nature,
}

/// What there is to know of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Nature {
    /// A closure of the owner's.
    Closure,
    /// A closure of this library's, which neither blocks nor runs the owner's code.
    Brief,
    /// A [`Waker`].
    Waker,
}

/// A type that can be kept.
trait Keep: Send + Sized + 'static {
    const KIND: &'static Kind;

    const FITS: bool = size_of::<Self>() <= size_of::<Words>() && align_of::<Self>() <= align_of::<Words>();
}

/// Any closure that runs once.
#[repr(transparent)]
struct Closure<F>(F);

/// One that is [brief](Nature::Brief).
#[repr(transparent)]
struct Brief<F>(F);

impl<F: FnOnce(Firing) + Send + 'static> Keep for Closure<F> {
    const KIND: &'static Kind = &Kind { run: call::<F>, drop: drop_in_place::<F>, nature: Nature::Closure };
}

impl<F: FnOnce(Firing) + Send + 'static> Keep for Brief<F> {
    const KIND: &'static Kind = &Kind { run: call::<F>, drop: drop_in_place::<F>, nature: Nature::Brief };
}

impl Keep for Waker {
    const KIND: &'static Kind = &Kind { run: wake, drop: wake_last, nature: Nature::Waker };
}

/// Takes a closure out and runs it.
///
/// # Safety
/// As [`Kind`], of an `F`, or of what has its layout.
#[expect(unsafe_code, reason = "the type of what lies there is known by the kind alone")]
unsafe fn call<F: FnOnce(Firing)>(words: *mut Words, firing: Firing) {
    // SAFETY: the caller says that an initialized, aligned closure of this type lies there, and does not use
    // it again.
    let closure = unsafe { ptr::read(words.cast::<F>()) };
    closure(firing);
}

/// Takes a waker out and wakes its task.
///
/// # Safety
/// As [`Kind`], of a [`Waker`].
#[expect(unsafe_code, reason = "the type of what lies there is known by the kind alone")]
unsafe fn wake(words: *mut Words, _: Firing) {
    // SAFETY: the caller says that an initialized, aligned waker lies there, and does not use it again.
    let waker = unsafe { ptr::read(words.cast::<Waker>()) };
    waker.wake();
}

/// Takes a waker out whose timer ends without firing, and wakes its task, which looks what has become of the
/// timer.
///
/// # Safety
/// As [`Kind`], of a [`Waker`].
#[expect(unsafe_code, reason = "the type of what lies there is known by the kind alone")]
unsafe fn wake_last(words: *mut Words) {
    // SAFETY: the caller says that an initialized, aligned waker lies there, and does not use it again.
    let waker = unsafe { ptr::read(words.cast::<Waker>()) };
    // A waker is the runtime's code. A panic is printed, and must not leave a drop: another may be on its
    // way.
    let _ = catch_unwind(AssertUnwindSafe(|| waker.wake()));
}

/// Drops a value.
///
/// # Safety
/// As [`Kind`], of a `K`, or of what has its layout.
#[expect(unsafe_code, reason = "the type of what lies there is known by the kind alone")]
unsafe fn drop_in_place<K>(words: *mut Words) {
    // SAFETY: the caller says that an initialized, aligned value of this type lies there, and does not use it
    // again.
    unsafe { ptr::drop_in_place(words.cast::<K>()) }
}

impl Task {
    /// Makes a task of a closure. One of up to 40 bytes allocates nothing; a boxed one stays in its box.
    #[inline]
    pub fn new<F: FnOnce(Firing) + Send + 'static>(closure: F) -> Task {
        if Closure::<F>::FITS {
            Task::keep(Closure(closure))
        } else {
            let closure: Box<dyn FnOnce(Firing) + Send> = Box::new(closure);
            Task::keep(Closure(closure))
        }
    }

    /// Makes a task of a closure that neither blocks nor runs the owner's code, and fits: it stays on the
    /// driver's thread where others are handed to an executor.
    #[inline]
    pub(crate) fn brief(closure: impl FnOnce(Firing) + Send + 'static) -> Task {
        Task::keep(Brief(closure))
    }

    /// Makes a task that wakes another, also if it is dropped: then its timer will not fire.
    #[inline]
    pub(crate) fn waking(waker: Waker) -> Task {
        Task::keep(waker)
    }

    #[inline]
    #[expect(unsafe_code, reason = "words have no type")]
    fn keep<K: Keep>(value: K) -> Task {
        // Not a constant block: `new` names this for closures that are too large, and does not come here with
        // them.
        assert!(K::FITS, "what does not fit is boxed");
        let mut words = Words::uninit();
        // SAFETY: the value fits into the words, in size and in alignment, which the line before asserts.
        unsafe { ptr::write(words.as_mut_ptr().cast::<K>(), value) };
        Task { kind: K::KIND, words }
    }

    /// Runs it.
    #[inline]
    #[expect(unsafe_code, reason = "the kind knows what lies there")]
    pub fn run(self, firing: Firing) {
        let mut this = ManuallyDrop::new(self);
        let kind = this.kind;
        // SAFETY: `keep` put an initialized, aligned value of the kind's type there. Only this and `drop`
        // take it out, and `drop` does not come after this, not even if the closure panics.
        unsafe { (kind.run)(&raw mut this.words, firing) }
    }

    /// The waker of a task that was made of one.
    #[inline]
    #[expect(unsafe_code, reason = "the kind knows what lies there")]
    pub(crate) fn waker_mut(&mut self) -> Option<&mut Waker> {
        // SAFETY: the kind is that of the initialized, aligned value in the words; it is lent out as long as
        // `self` is.
        (self.kind.nature == Nature::Waker).then(|| unsafe { &mut *self.words.as_mut_ptr().cast::<Waker>() })
    }

    /// The waker of a task that was made of one, which is not woken. Any other task is dropped.
    #[inline]
    #[expect(unsafe_code, reason = "the kind knows what lies there")]
    pub(crate) fn into_waker(self) -> Option<Waker> {
        if self.kind.nature != Nature::Waker {
            return None;
        }
        let this = ManuallyDrop::new(self);
        // SAFETY: the kind is that of the initialized, aligned value in the words, which are not used after
        // this.
        Some(unsafe { ptr::read(this.words.as_ptr().cast::<Waker>()) })
    }

    /// What is kept.
    #[inline]
    pub(super) fn nature(&self) -> Nature {
        self.kind.nature
    }
}

impl Drop for Task {
    #[expect(unsafe_code, reason = "the kind knows what lies there")]
    fn drop(&mut self) {
        // SAFETY: as in `run`, which does not come before this: it forgets what it took.
        unsafe { (self.kind.drop)(&raw mut self.words) }
    }
}

impl fmt::Debug for Task {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Task").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mainspring_queue::Tick;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    const FIRING: Firing = Firing { deadline: Tick::new(3), now: Tick::new(4) };

    /// Runs one closure and drops another that owns so many words; finds each run or dropped once.
    fn trial<const WORDS: usize>() {
        let (token, ran) = (Arc::new(()), Arc::new(AtomicUsize::new(0)));
        let make = || {
            let (own, ran, words) = (Arc::clone(&token), Arc::clone(&ran), [7_usize; WORDS]);
            Task::new(move |firing| {
                assert_eq!((firing, words), (FIRING, [7; WORDS]));
                ran.fetch_add(1, Ordering::SeqCst);
                drop(own);
            })
        };
        let (run, dropped) = (make(), make());
        let moved = vec![run];
        moved.into_iter().for_each(|task| task.run(FIRING));
        drop(dropped);
        assert_eq!((ran.load(Ordering::SeqCst), Arc::strong_count(&token)), (1, 1), "{WORDS} words");
    }

    #[test]
    fn closures_of_every_size_run_once_or_are_dropped_once() {
        trial::<0>();
        trial::<1>();
        trial::<3>();
        trial::<4>();
        trial::<40>();
    }

    #[test]
    fn what_fits_is_kept_in_place() {
        let words = [0_usize; WORD_COUNT];
        assert!(is_in_place(move |_| _ = std::hint::black_box(words)));
        let more = [0_usize; WORD_COUNT + 1];
        assert!(!is_in_place(move |_| _ = std::hint::black_box(more)));
        #[repr(align(16))]
        struct Strict(u8);
        let strict = Strict(1);
        assert!(!is_in_place(move |_| assert_eq!({ &strict }.0, 1)));
    }

    fn is_in_place<F: FnOnce(Firing) + Send + 'static>(closure: F) -> bool {
        Task::new(closure).run(FIRING);
        Closure::<F>::FITS
    }

    #[test]
    fn a_closure_that_panics_is_dropped_once() {
        let token = Arc::new(());
        let own = Arc::clone(&token);
        let task = Task::new(move |_| {
            let _own = own;
            panic!("it panics");
        });
        assert!(catch_unwind(AssertUnwindSafe(|| task.run(FIRING))).is_err());
        assert_eq!(Arc::strong_count(&token), 1);
    }

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn a_waker_is_found_replaced_and_woken_and_a_closure_is_no_waker() {
        let counts = [Arc::new(Count::default()), Arc::new(Count::default())];
        let mut task = Task::waking(Waker::from(Arc::clone(&counts[0])));
        *task.waker_mut().expect("it is a waker") = Waker::from(Arc::clone(&counts[1]));
        task.run(FIRING);
        assert_eq!(counts.each_ref().map(|count| count.0.load(Ordering::SeqCst)), [0, 1]);
        assert_eq!(counts.each_ref().map(Arc::strong_count), [1, 1]);
        let waker = Waker::noop().clone();
        assert!(Task::new(move |_| waker.wake()).waker_mut().is_none());
    }

    #[test]
    fn a_waker_that_is_dropped_is_woken_and_one_that_is_taken_out_is_not() {
        let count = Arc::new(Count::default());
        let waking = || Task::waking(Waker::from(Arc::clone(&count)));
        drop(waking().into_waker().expect("it is a waker"));
        assert_eq!((count.0.load(Ordering::SeqCst), Arc::strong_count(&count)), (0, 1));
        drop(waking());
        assert_eq!((count.0.load(Ordering::SeqCst), Arc::strong_count(&count)), (1, 1));
        let own = Arc::clone(&count);
        assert!(Task::new(move |_| drop(own)).into_waker().is_none());
        assert_eq!(Arc::strong_count(&count), 1, "a closure that is no waker is dropped");
    }

    struct Touchy;

    impl Wake for Touchy {
        fn wake(self: Arc<Self>) {
            panic!("a runtime is in trouble");
        }
    }

    #[test]
    fn a_waker_that_panics_does_not_panic_in_a_drop() {
        drop(Task::waking(Waker::from(Arc::new(Touchy))));
    }
}
