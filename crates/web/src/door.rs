//! Memory that the page reads and writes. A page copies a request to `request(length)`, calls `answer()`, and reads as many
//! bytes as it returns from `text()`.
//!
//! A panic ends a module of WebAssembly. It leaves its message at `text()`, with the length `panicked()`.
#![allow(unsafe_code)]

use crate::Laboratory;
use std::cell::RefCell;

thread_local! {
    static LABORATORY: RefCell<Laboratory> = RefCell::default();
    static REQUEST: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static TEXT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static PANIC: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Makes room for a request of `length` bytes, and returns its place.
#[no_mangle]
extern "C" fn request(length: usize) -> *mut u8 {
    REQUEST.with_borrow_mut(|request| {
        request.clear();
        request.resize(length, 0);
        request.as_mut_ptr()
    })
}

/// Answers the request. Returns the length of the answer.
#[no_mangle]
extern "C" fn answer() -> usize {
    std::panic::set_hook(Box::new(|info| PANIC.with_borrow_mut(|text| *text = info.to_string().into_bytes())));
    let request = REQUEST.take();
    let answer = LABORATORY.with_borrow_mut(|laboratory| laboratory.answer(&request));
    TEXT.with_borrow_mut(|text| {
        *text = answer.into_bytes();
        text.len()
    })
}

/// Returns the place of the last answer.
#[no_mangle]
extern "C" fn text() -> *const u8 {
    TEXT.with_borrow(|text| text.as_ptr())
}

/// Returns the length of the message of a panic; zero without one. The message is then at `text()`.
#[no_mangle]
extern "C" fn panicked() -> usize {
    TEXT.with_borrow_mut(|text| {
        *text = PANIC.take();
        text.len()
    })
}
