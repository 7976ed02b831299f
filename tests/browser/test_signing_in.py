"""Signing in and out, and what keeps others out."""

from playwright.sync_api import Page, expect

from rockdove.server.signin import MOST_WRONG
from tests.support.chromium import Visits, sign_in
from tests.support.site import Site


def test_who_signs_in_comes_to_the_page_that_was_wanted(visits: Visits, guarded: Site) -> None:
    page = visits.page(guarded.origin)
    page.goto("/plan?arrival=7")
    expect(page).to_have_url(f"{guarded.origin}/login?next=/plan%3Farrival%3D7")
    sign_in(page, "ann", "wrong horse")
    expect(page.get_by_test_id("login-error")).to_contain_text("The name or the password is wrong")
    expect(page.get_by_test_id("login-account")).to_have_value("ann")
    expect(page.get_by_test_id("login-password")).to_be_focused()
    page.get_by_test_id("login-password").fill("correct horse battery")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Plan", exact=True)).to_be_visible()
    expect(page.get_by_test_id("plan-arrival")).to_have_value("7")


def test_scripts_cannot_read_the_cookie(visits: Visits, guarded: Site) -> None:
    page = visits.page(guarded.origin)
    page.goto("/login")
    sign_in(page, "ann")
    expect(page.get_by_test_id("create-queue")).to_be_visible()
    [cookie] = page.context.cookies()
    assert (cookie.get("httpOnly"), cookie.get("sameSite")) == (True, "Strict")
    assert page.evaluate("document.cookie") == ""


def test_wrong_passwords_lock_an_account(visits: Visits, guarded: Site) -> None:
    page = visits.page(guarded.origin)
    page.goto("/login")
    error = page.get_by_test_id("login-error")
    for count in range(MOST_WRONG):
        sign_in(page, "carol", f"wrong horse {count}")
        expect(error).to_contain_text("wrong")
        expect(page.get_by_test_id("login-password")).to_have_value("")
    sign_in(page, "carol")
    expect(error).to_contain_text("Too many wrong passwords")
    page.goto("/")
    expect(page.get_by_test_id("login-submit")).to_be_visible()
    # Another account is not.
    sign_in(page, "bob")
    expect(page.get_by_test_id("create-queue")).to_be_visible()


def test_signing_out_ends_the_other_tabs_at_once(visits: Visits, guarded: Site) -> None:
    page = visits.page(guarded.origin)
    page.goto("/login")
    sign_in(page, "bob")
    expect(page.get_by_test_id("create-queue")).to_be_visible()
    other = page.context.new_page()
    other.goto("/elastic")
    elsewhere = visits.page(guarded.origin)
    elsewhere.goto("/login")
    sign_in(elsewhere, "bob")
    expect(elsewhere.get_by_test_id("create-queue")).to_be_visible()
    _menu(page, "Sign out")
    expect(other).to_have_url(f"{guarded.origin}/login?next=%2Felastic")
    expect(elsewhere.get_by_test_id("create-queue")).to_be_visible()
    page.goto("/login")
    sign_in(page, "bob")
    _menu(page, "Sign out everywhere")
    expect(elsewhere.get_by_test_id("login-submit")).to_be_visible()


def _menu(page: Page, words: str) -> None:
    page.get_by_role("button", name="bob").click()
    page.get_by_role("button", name=words, exact=True).click()
    expect(page.get_by_test_id("login-submit")).to_be_visible()
